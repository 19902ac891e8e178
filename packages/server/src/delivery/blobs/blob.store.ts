/** The tables `blob` and `blob_object`, as an upload and a reader see them. */
import { type Read, statement, type Transaction } from '../../kernel/database.ts';
import { type Problem, problem } from '../../kernel/problems.ts';
import type { PlacedBlob } from './pack.ts';

export interface BlobPlace {
  size: number;
  object_key: string;
  object_offset: number;
}

const selectPlace = statement<BlobPlace>(
  'select size, object_key, object_offset from blob where account_id = $1 and digest = $2',
);

export async function placeOf(read: Read, accountId: string, digest: string): Promise<BlobPlace | undefined> {
  const [place] = await read(selectPlace, [accountId, digest]);
  return place;
}

// Of most uploads all are known, or none is: then they are not listed.
const selectKnown = statement<{ count: number; known: string[] | null; condemned: string[] }>(
  `
  with known as materialized (
    select digest, condemned_at is not null as condemned from blob where account_id = $1 and digest = any($2)
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

const insertPending = statement(
  `
  insert into blob_object (account_id, object_key, state, size, live_bytes, since) values ($1, $2, 'pending', 0, 0, $3)`,
  { alone: true },
);

/** Before its bytes are put, so that they are found whatever happens. */
export async function announceObject(read: Read, accountId: string, key: string, now: Date): Promise<void> {
  await read(insertPending, [accountId, key, now]);
}

const doomPending = statement<{ object_key: string }>(
  `
  update blob_object set state = 'doomed', since = $3
  where account_id = $1 and object_key = any($2) and state = 'pending' returning object_key`,
  { alone: true },
);
const deleteDoomed = statement(
  "delete from blob_object where account_id = $1 and object_key = $2 and state = 'doomed'",
  { alone: true },
);

/** Those of the objects that nobody has taken are nobody's from now on. A commit under way is waited for, and decides. */
export async function doomUntaken(
  read: Read,
  accountId: string,
  keys: readonly string[],
  now: Date,
): Promise<string[]> {
  const rows = await read(doomPending, [accountId, keys, now]);
  return rows.map((row) => row.object_key);
}

/** After its bytes are removed. */
export async function forgetObject(read: Read, accountId: string, key: string): Promise<void> {
  await read(deleteDoomed, [accountId, key]);
}

// Whoever removes blobs, chunks or manifests holds this lock alone, whoever refers to them holds it with others: what is found there stays there.
const lockName = (account: string) => `hashtextextended('headgate blobs ' || ${account}::text, 0)`;
const shareBlobs = statement(`select pg_advisory_xact_lock_shared(${lockName('$1')})`);
const holdBlobs = statement(`select pg_advisory_xact_lock(${lockName('$1')})`);

export function holdBlobsAlone(tx: Transaction, accountId: string): void {
  tx.send(holdBlobs, [accountId]);
}

// In the order of their digests, so that two uploads of the same files do not wait for each other. A blob that another upload has brought
// meanwhile keeps its place, and the bytes here belong to nothing.
const placeBlobs = statement(
  `
  with placed as (
    insert into blob (account_id, digest, size, object_key, object_offset, created_at)
    select $1, b.digest, b.size, coalesce(($6::text[])[b.object], ''), b.at, $8
    from unnest($2::text[], $3::bigint[], $4::integer[], $5::bigint[]) as b (digest, size, object, at)
    order by b.digest
    on conflict (account_id, digest) do nothing
    returning object_key, size
  ), taken as (
    update blob_object o set state = 'live', since = $8, size = g.size,
      live_bytes = coalesce((select sum(p.size) from placed p where p.object_key = g.object_key), 0)
    from unnest($6::text[], $7::bigint[]) as g (object_key, size)
    where o.account_id = $1 and o.object_key = g.object_key and o.state = 'pending'
    returning true
  )
  select breach('blob_object_pending') where (select count(*) from taken) < cardinality($6::text[])`,
  { alone: true },
);

// They are looked for only when any were removed meanwhile: thousands of looks into the index. A `case`, since PostgreSQL may evaluate the
// second part of an `and` first.
const requireFiles = statement(
  `
  select breach('blob_there')
  where case when (select blob_removals from account where account_id = $1) <> $3 then exists (
    select from manifest m cross join unnest(m.chunks) as listed (chunk)
    left join manifest_chunk c on c.account_id = $1 and c.digest = listed.chunk
    where m.account_id = $1 and m.digest = $2 and (c.digest is null or exists (
      select from unnest(c.digests) as file
      where not exists (select from blob b where b.account_id = $1 and b.digest = encode(file, 'hex'))))) end`,
  { alone: true },
);

/** What an upload brought: blobs in objects that are put, and those that were there before. */
export interface KeptBlobs {
  /** Read before the first of them was looked for. */
  base: Base;
  /** Those that are new. */
  placed: readonly PlacedBlob[];
  objects: readonly { key: string; size: number }[];
  /** Every new byte outlives a crash: waited for before the commit. */
  stored: Promise<unknown>;
  /** Told after the commit of the transaction that took them. */
  taken(): void;
}

/** Removed meanwhile, because the upload lasted longer than such things are kept: then nothing of it is, and it is sent again. */
const gone = (): Problem => problem('concurrent-change');

/**
 * Makes blobs the account's. The first thing in its transaction: no lock is waited for before this one. The manifest that lists them comes
 * after it, and then `requireListed`.
 */
export function takeBlobs(tx: Transaction, accountId: string, kept: KeptBlobs, now: Date): void {
  tx.onConstraint('blob_object_pending', gone);
  tx.send(shareBlobs, [accountId]);
  if (kept.placed.length > 0) tx.send(placeBlobs, [accountId, ...columnsOf(kept), now]);
  tx.afterCommit(() => kept.taken());
}

/**
 * No manifest lists what is gone, or what is not stored. In the transaction of `takeBlobs`: the database does its work while the last bytes
 * are put.
 */
export async function requireListed(
  tx: Transaction,
  accountId: string,
  manifestDigest: string,
  kept: KeptBlobs,
): Promise<void> {
  tx.onConstraint('blob_there', gone);
  const found = tx.query(requireFiles, [accountId, manifestDigest, kept.base.removals]);
  await Promise.all([found, kept.stored]);
}

function columnsOf({ placed, objects }: KeptBlobs) {
  const ordinals = new Map(objects.map(({ key }, index) => [key, index + 1]));
  return [
    placed.map((blob) => blob.digest),
    placed.map((blob) => blob.size),
    placed.map((blob) => ordinals.get(blob.key) ?? null),
    placed.map((blob) => blob.offset),
    objects.map((object) => object.key),
    objects.map((object) => object.size),
  ] as const;
}
