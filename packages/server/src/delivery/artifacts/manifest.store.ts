/** The tables `manifest` and `manifest_chunk`. */
import { type Read, statement, type Transaction, typed } from '../../kernel/database/database.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { requireListed, takeBlobs } from '../blobs/index.ts';
import type { Upload } from './upload/collection.ts';
import type { ManifestChunk, ManifestFile } from './upload/manifest.ts';

/** SQL for a `from`: the chunks `c` of the manifest `m` with their positions. */
export const chunksOfManifest = `
  unnest(m.chunks) with ordinality as listed (chunk, place)
  join manifest_chunk c on c.account_id = $account_id and c.digest = listed.chunk`;

// Ordered by digest, so that two uploads of the same files do not deadlock.
const insertChunks = statement(
  {
    parameters: {
      account_id: 'uuid',
      chunks: 'text[]',
      chunk_of_file: 'integer[]',
      paths: 'text[]',
      digests: 'text[]',
      sizes: 'bigint[]',
    },
    alone: true,
  },
  `
  with file as (
    select * from unnest($chunk_of_file::integer[], $paths::text[], $digests::text[],
      $sizes::bigint[]) with ordinality as file (chunk, path, sha256, size, place)
  )
  insert into manifest_chunk (account_id, digest, paths, digests, sizes)
  select $account_id, decode(($chunks::text[])[chunk], 'hex') as digest, array_agg(path order by place),
    array_agg(decode(sha256, 'hex') order by place), array_agg(size order by place)
  from file group by chunk order by digest
  on conflict (account_id, digest) do nothing`,
);

// The stored pipeline descriptions may be from an earlier release, which stored less.
const insertOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      digest: 'text',
      chunks: 'text[]',
      pipelines: 'jsonb',
      now: 'timestamptz',
    },
    alone: true,
  },
  `
  insert into manifest (account_id, digest, chunks, pipelines, created_at)
  values ($account_id, $digest, array(select decode(chunk, 'hex') from unnest($chunks::text[]) as chunk), $pipelines, $now)
  on conflict (account_id, digest) do update set condemned_at = null, pipelines = excluded.pipelines
  where manifest.condemned_at is not null or manifest.pipelines is distinct from excluded.pipelines`,
);

/**
 * Stores an upload: its blobs and its manifest. Call it first in its transaction; write references to the
 * manifest after it.
 */
export async function insertManifest(
  tx: Transaction,
  { accountId }: Scope,
  upload: Upload,
  now: Date,
): Promise<void> {
  const { manifest, pipelines, blobs } = upload;
  takeBlobs(tx, accountId, blobs, now);
  const fresh = manifest.chunks.filter((chunk) => !blobs.base.chunks.has(chunk.digest));
  if (fresh.length > 0) tx.send(insertChunks, { account_id: accountId, ...splitColumns(fresh) });
  const chunks = manifest.chunks.map((chunk) => chunk.digest);
  tx.send(insertOne, {
    account_id: accountId,
    digest: manifest.digest,
    chunks,
    pipelines: JSON.stringify(pipelines),
    now,
  });
  await requireListed(tx, accountId, manifest.digest, blobs);
}

function splitColumns(chunks: readonly ManifestChunk[]) {
  const files = chunks.flatMap((chunk) => chunk.files);
  return {
    chunks: chunks.map((chunk) => chunk.digest),
    chunk_of_file: chunks.flatMap((chunk, index) => chunk.files.map(() => index + 1)),
    paths: files.map((file) => file.path),
    digests: files.map((file) => file.sha256),
    sizes: files.map((file) => file.size),
  };
}

// Without chunks there are no files.
const selectChunks = statement(
  {
    parameters: { account_id: 'uuid', digest: 'text' },
    row: { paths: 'text[]?', digests: 'text[]?', sizes: typed<number[] | null>('bigint[]') },
  },
  `
  select c.paths, array(select encode(digest, 'hex') from unnest(c.digests) as digest) as digests, c.sizes
  from manifest m left join (${chunksOfManifest}) on true
  where m.account_id = $account_id and m.digest = $digest order by listed.place`,
);

/** SQL: the names of the pipelines of a manifest, with their extensions, as `path`. */
export const selectPipelinePaths = (digest: string) => `
  select p ->> 'name' || case p ->> 'type' when 'TRANSFORMATION' then '.tran.yaml' else '.orch.yaml' end as path
  from manifest m cross join jsonb_array_elements(m.pipelines) p where m.account_id = $account_id and m.digest = ${digest}`;

/** Files sorted by path; undefined if the account has no such manifest. */
export async function readManifestFiles(
  read: Read,
  accountId: string,
  digest: string,
): Promise<ManifestFile[] | undefined> {
  const rows = await read(selectChunks, { account_id: accountId, digest });
  if (rows.length === 0) return undefined;
  return rows.flatMap(({ paths, digests, sizes }) =>
    (paths ?? []).map((path, index) => ({
      path,
      sha256: digests?.[index] ?? '',
      size: Number(sizes?.[index] ?? 0),
    })),
  );
}
