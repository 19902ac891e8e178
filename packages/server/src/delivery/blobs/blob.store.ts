/** The table `blob`, as readers and uploads use it. */
import { type ColumnTypes, type Read, type RowOf, statement } from '../../kernel/database/database.ts';

const blobPlace = {
  size: 'bigint',
  object_key: 'text',
  object_offset: 'bigint',
} satisfies ColumnTypes;
export type BlobPlace = RowOf<typeof blobPlace>;

/**
 * An SQL condition on the blob of the account `$account_id`: it is committed, not only placed
 * (taking.store.ts).
 */
export const isTaken = (blob: string): string => `${blob}.object_key <> all(array(
  select object_key from blob_object where account_id = $account_id and state = 'pending'))`;

const selectPlace = statement(
  { parameters: { account_id: 'uuid', digest: 'text' }, row: blobPlace },
  `
  select size, object_key, object_offset from blob b where account_id = $account_id and digest = $digest
    and ${isTaken('b')}`,
);

export async function findPlace(
  read: Read,
  accountId: string,
  digest: string,
): Promise<BlobPlace | undefined> {
  const [place] = await read(selectPlace, { account_id: accountId, digest });
  return place;
}

// Most uploads have only known files or only new ones; then the result does not list them.
const selectKnown = statement(
  {
    parameters: { account_id: 'uuid', digests: 'text[]' },
    row: { count: 'integer', known: 'text[]?', condemned: 'text[]' },
    alone: true,
  },
  `
  with known as materialized (
    select digest, condemned_at is not null as condemned from blob b
    where account_id = $account_id and digest = any($digests) and ${isTaken('b')}
  )
  select count(*)::integer as count,
    case when count(*) between 1 and cardinality($digests::text[]) - 1 then array_agg(digest) end as known,
    array(select digest from known where condemned) as condemned
  from known`,
);
// Restarts the grace period, which is longer than an upload may take. Blobs that are removed or no longer
// condemned are not returned.
const keepCondemned = statement(
  {
    parameters: { account_id: 'uuid', digests: 'text[]', now: 'timestamptz' },
    row: { digest: 'text' },
    alone: true,
  },
  `
  update blob set condemned_at = $now where account_id = $account_id and digest = any($digests)
    and condemned_at is not null returning digest`,
);

/**
 * Returns which of these blobs the account does not have. The others are kept for a grace period from now.
 */
export async function findNewBlobs(
  read: Read,
  accountId: string,
  digests: readonly string[],
  now: Date,
): Promise<Set<string>> {
  const [found] = await read(selectKnown, { account_id: accountId, digests });
  const { count, known, condemned } = found ?? { count: 0, known: null, condemned: [] };
  if (count === 0) return new Set(digests);
  const fresh = new Set(count === digests.length ? condemned : digests);
  for (const digest of known ?? []) if (!condemned.includes(digest)) fresh.delete(digest);
  if (condemned.length === 0) return fresh;
  for (const { digest } of await read(keepCondemned, { account_id: accountId, digests: condemned, now }))
    fresh.delete(digest);
  return fresh;
}

/** What the account has before an upload looks up any file. */
export interface Base {
  /** How often files of the account have been removed. */
  removals: number;
  /**
   * Digests of the chunks of the manifest with which the upload is compared first, and of the blobs in
   * them.
   */
  chunks: ReadonlySet<string>;
  blobs: ReadonlySet<string>;
}

// Digests as one text, because thousands of array elements take longer to parse.
const selectBase = statement(
  {
    parameters: { account_id: 'uuid', digest: 'text?' },
    row: { removals: 'bigint', chunks: 'text?', blobs: 'text?' },
    alone: true,
  },
  `
  select a.blob_removals as removals, base.chunks, base.blobs
  from account a left join lateral (
    select string_agg(encode(c.digest, 'hex'), '') as chunks,
      string_agg((select string_agg(encode(blob, 'hex'), '') from unnest(c.digests) as blob), '') as blobs
    from manifest m cross join unnest(m.chunks) as listed (chunk)
    join manifest_chunk c on c.account_id = $account_id and c.digest = listed.chunk
    where m.account_id = $account_id and m.digest = $digest) base on true
  where a.account_id = $account_id`,
);

export async function readBase(read: Read, accountId: string, manifestDigest: string | null): Promise<Base> {
  const [row] = await read(selectBase, { account_id: accountId, digest: manifestDigest });
  return {
    removals: row?.removals ?? 0,
    chunks: splitDigests(row?.chunks ?? ''),
    blobs: splitDigests(row?.blobs ?? ''),
  };
}

const digestLength = 64;

function splitDigests(text: string): Set<string> {
  const digests = new Set<string>();
  for (let at = 0; at < text.length; at += digestLength) digests.add(text.slice(at, at + digestLength));
  return digests;
}
