/** The table `blob`, as a reader sees it, and an upload that looks for what is there. */
import { type Read, statement } from '../../kernel/database/database.ts';

export interface BlobPlace {
  size: number;
  object_key: string;
  object_offset: number;
}

/** A condition on the blob of the account $1: it is there, not only placed (taking.store.ts). */
export const isTaken = (blob: string): string => `${blob}.object_key <> all(array(
  select object_key from blob_object where account_id = $1 and state = 'pending'))`;

const selectPlace = statement<BlobPlace>(`
  select size, object_key, object_offset from blob b where account_id = $1 and digest = $2 and ${isTaken('b')}`);

export async function placeOf(read: Read, accountId: string, digest: string): Promise<BlobPlace | undefined> {
  const [place] = await read(selectPlace, [accountId, digest]);
  return place;
}

// Of most uploads all are known, or none is: then they are not listed.
const selectKnown = statement<{ count: number; known: string[] | null; condemned: string[] }>(
  `
  with known as materialized (
    select digest, condemned_at is not null as condemned from blob b
    where account_id = $1 and digest = any($2) and ${isTaken('b')}
  )
  select count(*)::integer as count,
    case when count(*) between 1 and cardinality($2::text[]) - 1 then array_agg(digest) end as known,
    array(select digest from known where condemned) as condemned
  from known`,
  { alone: true },
);
// The grace begins anew: for as long as an upload may last, the blob stays. What is gone by now, or no longer condemned, is not answered.
const keepCondemned = statement<{ digest: string }>(
  `
  update blob set condemned_at = $3 where account_id = $1 and digest = any($2) and condemned_at is not null returning digest`,
  { alone: true },
);

/** Which of these the account does not have; the others it has for the grace from now on. */
export async function newBlobs(
  read: Read,
  accountId: string,
  digests: readonly string[],
  now: Date,
): Promise<Set<string>> {
  const [found] = await read(selectKnown, [accountId, digests]);
  const { count, known, condemned } = found ?? { count: 0, known: null, condemned: [] };
  if (count === 0) return new Set(digests);
  const fresh = new Set(count === digests.length ? condemned : digests);
  for (const digest of known ?? []) if (!condemned.includes(digest)) fresh.delete(digest);
  if (condemned.length === 0) return fresh;
  for (const { digest } of await read(keepCondemned, [accountId, condemned, now])) fresh.delete(digest);
  return fresh;
}

/** What an account has before an upload looks for anything. */
export interface Base {
  /** How often files of the account were removed so far. */
  removals: number;
  /** Digests of the chunks of the manifest that the upload is compared with first, and of the blobs that they list. */
  chunks: ReadonlySet<string>;
  blobs: ReadonlySet<string>;
}

// Digests as one text, since thousands of elements take longer to read.
const selectBase = statement<{ removals: number; chunks: string | null; blobs: string | null }>(
  `
  select a.blob_removals as removals, base.chunks, base.blobs
  from account a left join lateral (
    select string_agg(encode(c.digest, 'hex'), '') as chunks,
      string_agg((select string_agg(encode(blob, 'hex'), '') from unnest(c.digests) as blob), '') as blobs
    from manifest m cross join unnest(m.chunks) as listed (chunk)
    join manifest_chunk c on c.account_id = $1 and c.digest = listed.chunk
    where m.account_id = $1 and m.digest = $2) base on true
  where a.account_id = $1`,
  { alone: true },
);

export async function readBase(read: Read, accountId: string, manifestDigest: string | null): Promise<Base> {
  const [row] = await read(selectBase, [accountId, manifestDigest]);
  return {
    removals: row?.removals ?? 0,
    chunks: digestsIn(row?.chunks ?? ''),
    blobs: digestsIn(row?.blobs ?? ''),
  };
}

const digestLength = 64;

function digestsIn(text: string): Set<string> {
  const digests = new Set<string>();
  for (let at = 0; at < text.length; at += digestLength) digests.add(text.slice(at, at + digestLength));
  return digests;
}
