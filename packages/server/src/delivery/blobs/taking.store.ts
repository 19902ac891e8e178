/**
 * How blobs become the account's: the tables `blob` and `blob_object`, as an upload changes them (docs/adr/0028).
 *
 * Terminology
 *   announced  an object has a row before it has bytes, so that it is found whatever happens; it is `pending`
 *   placed     a blob has a row that says where in such an object it lies. Nobody else takes notice of it yet
 *   taken      the commit of a version makes the objects of its upload `live`, and all that is placed in them is there at once
 *   contested  a blob that two uploads bring at the same time. Who placed it second has it from the other one when that has not taken it by then
 */
import { type Read, statement, type Transaction } from '../../kernel/database/database.ts';
import { type Problem, problem } from '../../kernel/http/problems.ts';
import { type Base, isTaken } from './blob.store.ts';
import type { PlacedBlob } from './pack.ts';

// Who removes blobs, chunks or manifests, or has blobs from another upload, holds this lock alone; who refers to them or places them holds it with
// others: what is found there stays there.
const lockName = (account: string) => `hashtextextended('headgate blobs ' || ${account}::text, 0)`;
const shareBlobs = statement(`select pg_advisory_xact_lock_shared(${lockName('$1')})`);
const holdBlobs = statement(`select pg_advisory_xact_lock(${lockName('$1')})`);

export function holdBlobsAlone(tx: Transaction, accountId: string): void {
  tx.send(holdBlobs, [accountId]);
}

/** Removed meanwhile, because the upload lasted longer than such things are kept: then nothing of it is, and it is sent again. */
const gone = (): Problem => problem('concurrent-change');

// In the order of their digests, so that two uploads of the same files do not wait for each other. Nothing is placed in an object that is doomed:
// it would be nobody's for ever.
const insertPlaced = statement<{ digest: string }>(
  `
  with placed as (
    insert into blob (account_id, digest, size, object_key, object_offset, created_at)
    select $1, b.digest, b.size, $2, b.at, $6
    from unnest($3::text[], $4::bigint[], $5::bigint[]) as b (digest, size, at)
    order by b.digest
    on conflict (account_id, digest) do nothing
    returning digest, size
  ), announced as (
    insert into blob_object as o (account_id, object_key, state, size, live_bytes, since)
    select $1, $2, 'pending', 0, coalesce(sum(size), 0), $6 from placed
    on conflict (account_id, object_key) do update set live_bytes = o.live_bytes + excluded.live_bytes where o.state = 'pending'
    returning true
  )
  select digest from unnest($3::text[]) as digest where digest not in (select digest from placed)
  union all
  select breach('blob_object_pending') where not exists (select from announced)`,
  { alone: true },
);

/** Announces an object, and says where blobs lie in it. Answers the digests of those that have a place already: they are there, or contested. */
export async function placeBlobs(
  tx: Transaction,
  accountId: string,
  key: string,
  blobs: readonly PlacedBlob[],
  now: Date,
): Promise<Set<string>> {
  tx.onConstraint('blob_object_pending', gone);
  tx.send(shareBlobs, [accountId]);
  const { digests, sizes, offsets } = columnsOf(blobs);
  const refused = await tx.query(insertPlaced, [accountId, key, digests, sizes, offsets, now]);
  return new Set(refused.map((row) => row.digest));
}

const doomPending = statement<{ object_key: string }>(
  `
  update blob_object set state = 'doomed', since = $3
  where account_id = $1 and object_key = any($2) and state = 'pending' returning object_key`,
  { alone: true },
);

const deletePlaced = statement(
  'delete from blob where account_id = $1 and digest = any($2) and object_key = any($3)',
  { alone: true },
);

/**
 * Those of the objects that nobody has taken are nobody's from now on, with what is placed in them. A commit under way is waited for, and decides.
 * @param digests of all that may be placed in them
 */
export async function doomUntaken(
  tx: Transaction,
  accountId: string,
  keys: readonly string[],
  digests: readonly string[],
  now: Date,
): Promise<string[]> {
  tx.send(shareBlobs, [accountId]);
  const doomed = (await tx.query(doomPending, [accountId, keys, now])).map((row) => row.object_key);
  if (doomed.length > 0) tx.send(deletePlaced, [accountId, digests, doomed]);
  return doomed;
}

const deleteDoomed = statement(
  "delete from blob_object where account_id = $1 and object_key = $2 and state = 'doomed'",
  { alone: true },
);

/** After its bytes are removed. */
export async function forgetObject(read: Read, accountId: string, key: string): Promise<void> {
  await read(deleteDoomed, [accountId, key]);
}

// What another upload has placed and not taken is had from it; the objects of both count it where it is. A blob without bytes comes here, too: it has no
// object that would be taken.
const placeContested = statement(
  `
  with contested as (
    select digest, size, at, key from unnest($2::text[], $3::bigint[], $4::bigint[], $5::text[]) as c (digest, size, at, key)
  ), had as (
    update blob b set object_key = c.key, object_offset = c.at
    from contested c join (
      select b.digest, b.object_key from blob b where b.account_id = $1 and b.digest = any($2) and not ${isTaken('b')}
    ) before using (digest)
    where b.account_id = $1 and b.digest = c.digest
    returning before.object_key as before, b.object_key as key, b.size
  ), placed as (
    insert into blob (account_id, digest, size, object_key, object_offset, created_at)
    select $1, digest, size, key, at, $6 from contested order by digest
    on conflict (account_id, digest) do nothing
    returning object_key as key, size
  ), change (key, bytes) as (
    select before, -size from had union all select key, size from had union all select key, size from placed
  )
  update blob_object o set live_bytes = live_bytes + c.bytes
  from (select key, sum(bytes) as bytes from change group by key) c
  where o.account_id = $1 and o.object_key = c.key`,
  { alone: true },
);

const takeObjects = statement(
  `
  with taken as (
    update blob_object o set state = 'live', since = $4, size = g.size
    from unnest($2::text[], $3::bigint[]) as g (object_key, size)
    where o.account_id = $1 and o.object_key = g.object_key and o.state = 'pending'
    returning true
  )
  select breach('blob_object_pending') where (select count(*) from taken) < cardinality($2::text[])`,
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
      select from unnest(c.digests) as file where not exists (
        select from blob b where b.account_id = $1 and b.digest = encode(file, 'hex') and ${isTaken('b')})))) end`,
  { alone: true },
);

/** What an upload brought: blobs in objects that are put, and those that were there before. */
export interface KeptBlobs {
  /** Read before the first of them was looked for. */
  base: Base;
  /** Contested ones, and those without bytes. */
  unplaced: readonly PlacedBlob[];
  /** What the others are placed in. */
  objects: readonly { key: string; size: number }[];
  /** Every new byte outlives a crash: waited for before the commit. */
  stored: Promise<unknown>;
  /** Told after the commit of the transaction that took them. */
  taken(): void;
}

/**
 * Makes blobs the account's. The first thing in its transaction: no lock is waited for before this one. The manifest that lists them comes
 * after it, and then `requireListed`.
 */
export function takeBlobs(tx: Transaction, accountId: string, kept: KeptBlobs, now: Date): void {
  const { unplaced, objects } = kept;
  tx.onConstraint('blob_object_pending', gone);
  tx.send(unplaced.length > 0 ? holdBlobs : shareBlobs, [accountId]);
  if (unplaced.length > 0) {
    const { digests, sizes, offsets, keys } = columnsOf(unplaced);
    tx.send(placeContested, [accountId, digests, sizes, offsets, keys, now]);
  }
  const keys = objects.map((object) => object.key);
  const sizes = objects.map((object) => object.size);
  if (keys.length > 0) tx.send(takeObjects, [accountId, keys, sizes, now]);
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

function columnsOf(blobs: readonly PlacedBlob[]) {
  return {
    digests: blobs.map((blob) => blob.digest),
    sizes: blobs.map((blob) => blob.size),
    offsets: blobs.map((blob) => blob.offset),
    keys: blobs.map((blob) => blob.key),
  };
}
