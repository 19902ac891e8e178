/**
 * How blobs become the account's: the tables `blob` and `blob_object`, as an upload changes them (docs/adr/0028).
 *
 * Terminology
 *   announced  an object has a row before it has bytes, so that it is found whatever happens; it is `pending`
 *   placed     a blob has a row that says where in such an object it lies. Nobody else takes notice of it yet
 *   taken      the commit of a version makes the objects of its upload `live`, and all that is placed in them is there at once
 *   contested  a blob that two uploads bring at the same time. Who placed it second has it from the other one when that has not taken it by then
 */
import { type Read, statement, type Transaction } from '../../kernel/database.ts';
import { type Problem, problem } from '../../kernel/problems.ts';
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

const insertPending = statement(
  `
  insert into blob_object (account_id, object_key, state, size, live_bytes, since) values ($1, $2, 'pending', 0, 0, $3)`,
  { alone: true },
);

/** Before its bytes are put. */
export async function announceObject(read: Read, accountId: string, key: string, now: Date): Promise<void> {
  await read(insertPending, [accountId, key, now]);
}

// In the order of their digests, so that two uploads of the same files do not wait for each other. The rows of the objects are locked first: what
// is placed after they are doomed would be nobody's for ever. Nothing of this must outlive a crash before the commit that takes it does.
const insertPlaced = statement<{ digest: string }>(
  `
  with object as (
    select object_key, set_config('synchronous_commit', 'off', true)
    from blob_object where account_id = $1 and object_key = any($5) and state = 'pending' for no key update
  ), placed as (
    insert into blob (account_id, digest, size, object_key, object_offset, created_at)
    select $1, b.digest, b.size, b.key, b.at, $6
    from unnest($2::text[], $3::bigint[], $4::bigint[], $5::text[]) as b (digest, size, at, key)
    join object o on o.object_key = b.key
    order by b.digest
    on conflict (account_id, digest) do nothing
    returning digest, object_key, size
  ), counted as (
    update blob_object o set live_bytes = live_bytes + p.bytes
    from (select object_key, sum(size) as bytes from placed group by object_key) p
    where o.account_id = $1 and o.object_key = p.object_key
  )
  select digest from unnest($2::text[]) as digest where digest not in (select digest from placed)`,
  { alone: true },
);

/** Says where blobs lie, in objects that are announced. Answers those that are not placed: contested ones, and those without bytes. */
export async function placeBlobs(
  tx: Transaction,
  accountId: string,
  blobs: readonly PlacedBlob[],
  now: Date,
): Promise<PlacedBlob[]> {
  tx.send(shareBlobs, [accountId]);
  const rows = await tx.query(insertPlaced, [accountId, ...columnsOf(blobs), now]);
  const unplaced = new Set(rows.map((row) => row.digest));
  return blobs.filter((blob) => unplaced.has(blob.digest));
}

const doomPending = statement<{ object_key: string }>(
  `
  update blob_object set state = 'doomed', since = $3
  where account_id = $1 and object_key = any($2) and state = 'pending' returning object_key`,
  { alone: true },
);

/** Those of the objects that nobody has taken are nobody's from now on, with what is placed in them. A commit under way is waited for, and decides. */
export async function doomUntaken(
  tx: Transaction,
  accountId: string,
  keys: readonly string[],
  now: Date,
): Promise<string[]> {
  tx.send(shareBlobs, [accountId]);
  const doomed = (await tx.query(doomPending, [accountId, keys, now])).map((row) => row.object_key);
  removePlaced(tx, accountId, doomed);
  return doomed;
}

const deletePlaced = statement('delete from blob where account_id = $1 and object_key = any($2)', {
  alone: true,
});

/** What is placed in objects that were doomed before in the same transaction. */
export function removePlaced(tx: Transaction, accountId: string, keys: readonly string[]): void {
  if (keys.length > 0) tx.send(deletePlaced, [accountId, keys]);
}

const deleteDoomed = statement(
  "delete from blob_object where account_id = $1 and object_key = $2 and state = 'doomed'",
  { alone: true },
);

/** After its bytes are removed. */
export async function forgetObject(read: Read, accountId: string, key: string): Promise<void> {
  await read(deleteDoomed, [accountId, key]);
}

// A blob without bytes comes here, too: it has no object whose commit would tell.
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
  /** What `placeBlobs` did not place. */
  unplaced: readonly PlacedBlob[];
  /** What the others are placed in. */
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
  const { unplaced, objects } = kept;
  tx.onConstraint('blob_object_pending', gone);
  tx.send(unplaced.length > 0 ? holdBlobs : shareBlobs, [accountId]);
  if (unplaced.length > 0) tx.send(placeContested, [accountId, ...columnsOf(unplaced), now]);
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
  return [
    blobs.map((blob) => blob.digest),
    blobs.map((blob) => blob.size),
    blobs.map((blob) => blob.offset),
    blobs.map((blob) => blob.key),
  ] as const;
}
