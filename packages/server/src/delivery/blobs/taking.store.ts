/**
 * How an upload adds blobs to an account: its changes to the tables `blob` and `blob_object`
 * (docs/adr/0028).
 *
 * Terminology
 *   announced  an object has a row, `pending`, before it has bytes, so that the collector always finds it
 *   placed     a blob has a row with its place in such an object. Only its upload uses it yet
 *   taken      the commit of a version makes the objects of its upload `live`, with all blobs placed in them
 *   contested  a blob that two uploads bring at the same time. The later one places it in its own object if the
 *              earlier one has not taken it by then
 */
import { type Read, statement, type Transaction } from '../../kernel/database/database.ts';
import { type Problem, problem } from '../../kernel/http/problems.ts';
import { type Base, isTaken } from './blob.store.ts';
import type { PlacedBlob } from './pack.ts';

// Removing blobs, chunks or manifests and moving blobs from another upload need this lock exclusively.
// Referencing or placing them needs it shared: what a transaction finds then stays.
const buildLockName = (account: string) => `hashtextextended('headgate blobs ' || ${account}::text, 0)`;
const shareBlobs = statement(
  { parameters: { account_id: 'text' } },
  `select pg_advisory_xact_lock_shared(${buildLockName('$account_id')})`,
);
const holdBlobs = statement(
  { parameters: { account_id: 'text' } },
  `select pg_advisory_xact_lock(${buildLockName('$account_id')})`,
);

export function holdBlobsAlone(tx: Transaction, accountId: string): void {
  tx.send(holdBlobs, { account_id: accountId });
}

/**
 * Files were removed meanwhile, because the upload took longer than the grace period. Nothing of it is
 * stored, and the client sends it again.
 */
const createGoneProblem = (): Problem => problem('concurrent-change');

// Ordered by digest, so that two uploads of the same files do not deadlock. Nothing is placed in a doomed
// object: it would never be removed.
const insertPlaced = statement(
  {
    parameters: {
      account_id: 'uuid',
      object_key: 'text',
      digests: 'text[]',
      sizes: 'bigint[]',
      offsets: 'bigint[]',
      now: 'timestamptz',
    },
    row: { digest: 'text' },
    alone: true,
  },
  `
  with placed as (
    insert into blob (account_id, digest, size, object_key, object_offset, created_at)
    select $account_id, b.digest, b.size, $object_key, b.at, $now
    from unnest($digests::text[], $sizes::bigint[], $offsets::bigint[]) as b (digest, size, at)
    order by b.digest
    on conflict (account_id, digest) do nothing
    returning digest, size
  ), announced as (
    insert into blob_object as o (account_id, object_key, state, size, live_bytes, since)
    select $account_id, $object_key, 'pending', 0, coalesce(sum(size), 0), $now from placed
    on conflict (account_id, object_key) do update set live_bytes = o.live_bytes + excluded.live_bytes where o.state = 'pending'
    returning true
  )
  select digest from unnest($digests::text[]) as digest where digest not in (select digest from placed)
  union all
  select breach('blob_object_pending') where not exists (select from announced)`,
);

/**
 * Announces an object and places blobs in it. Returns the digests of blobs that already have a place: they
 * exist or are contested.
 */
export async function placeBlobs(
  tx: Transaction,
  accountId: string,
  key: string,
  blobs: readonly PlacedBlob[],
  now: Date,
): Promise<Set<string>> {
  tx.onConstraint('blob_object_pending', createGoneProblem);
  tx.send(shareBlobs, { account_id: accountId });
  const { digests, sizes, offsets } = splitColumns(blobs);
  const refused = await tx.query(insertPlaced, {
    account_id: accountId,
    object_key: key,
    digests,
    sizes,
    offsets,
    now,
  });
  return new Set(refused.map((row) => row.digest));
}

const doomPending = statement(
  {
    parameters: { account_id: 'uuid', object_keys: 'text[]', now: 'timestamptz' },
    row: { object_key: 'text' },
    alone: true,
  },
  `
  update blob_object set state = 'doomed', since = $now
  where account_id = $account_id and object_key = any($object_keys) and state = 'pending' returning object_key`,
);

const deletePlaced = statement(
  { parameters: { account_id: 'uuid', digests: 'text[]', object_keys: 'text[]' }, alone: true },
  'delete from blob where account_id = $account_id and digest = any($digests) and object_key = any($object_keys)',
);

/**
 * Dooms those of the objects that no transaction has taken, and removes the blobs placed in them. Waits for
 * a commit under way, which decides.
 * @param digests of all blobs that may be placed in them
 */
export async function doomUntaken(
  tx: Transaction,
  accountId: string,
  keys: readonly string[],
  digests: readonly string[],
  now: Date,
): Promise<string[]> {
  tx.send(shareBlobs, { account_id: accountId });
  const doomed = (await tx.query(doomPending, { account_id: accountId, object_keys: keys, now })).map(
    (row) => row.object_key,
  );
  if (doomed.length > 0) tx.send(deletePlaced, { account_id: accountId, digests, object_keys: doomed });
  return doomed;
}

const deleteDoomed = statement(
  { parameters: { account_id: 'uuid', object_key: 'text' }, alone: true },
  "delete from blob_object where account_id = $account_id and object_key = $object_key and state = 'doomed'",
);

/** Call it after removing the bytes. */
export async function forgetObject(read: Read, accountId: string, key: string): Promise<void> {
  await read(deleteDoomed, { account_id: accountId, object_key: key });
}

// Moves blobs that another upload has placed but not taken, and adjusts the live bytes of both objects.
// Empty blobs come here, too, because they have no object to take.
const placeContested = statement(
  {
    parameters: {
      account_id: 'uuid',
      digests: 'text[]',
      sizes: 'bigint[]',
      offsets: 'bigint[]',
      object_keys: 'text[]',
      now: 'timestamptz',
    },
    alone: true,
  },
  `
  with contested as (
    select digest, size, at, key from unnest($digests::text[], $sizes::bigint[], $offsets::bigint[],
      $object_keys::text[]) as c (digest, size, at, key)
  ), had as (
    update blob b set object_key = c.key, object_offset = c.at
    from contested c join (
      select b.digest, b.object_key from blob b where b.account_id = $account_id and b.digest = any($digests)
        and not ${isTaken('b')}
    ) before using (digest)
    where b.account_id = $account_id and b.digest = c.digest
    returning before.object_key as before, b.object_key as key, b.size
  ), placed as (
    insert into blob (account_id, digest, size, object_key, object_offset, created_at)
    select $account_id, digest, size, key, at, $now from contested order by digest
    on conflict (account_id, digest) do nothing
    returning object_key as key, size
  ), change (key, bytes) as (
    select before, -size from had union all select key, size from had union all select key, size from placed
  )
  update blob_object o set live_bytes = live_bytes + c.bytes
  from (select key, sum(bytes) as bytes from change group by key) c
  where o.account_id = $account_id and o.object_key = c.key`,
);

const takeObjects = statement(
  {
    parameters: { account_id: 'uuid', object_keys: 'text[]', sizes: 'bigint[]', now: 'timestamptz' },
    alone: true,
  },
  `
  with taken as (
    update blob_object o set state = 'live', since = $now, size = g.size
    from unnest($object_keys::text[], $sizes::bigint[]) as g (object_key, size)
    where o.account_id = $account_id and o.object_key = g.object_key and o.state = 'pending'
    returning true
  )
  select breach('blob_object_pending') where (select count(*) from taken) < cardinality($object_keys::text[])`,
);

// Files are looked up only if any were removed meanwhile, because it takes thousands of index lookups. A
// `case`, because PostgreSQL may evaluate the second part of an `and` first.
const requireFiles = statement(
  { parameters: { account_id: 'uuid', manifest_digest: 'text', removals: 'bigint' }, alone: true },
  `
  select breach('blob_there')
  where case when (select blob_removals from account where account_id = $account_id) <> $removals then exists (
    select from manifest m cross join unnest(m.chunks) as listed (chunk)
    left join manifest_chunk c on c.account_id = $account_id and c.digest = listed.chunk
    where m.account_id = $account_id and m.digest = $manifest_digest and (c.digest is null or exists (
      select from unnest(c.digests) as file where not exists (
        select from blob b where b.account_id = $account_id and b.digest = encode(file, 'hex') and ${isTaken('b')})))) end`,
);

/** What an upload stored: new blobs in objects, and blobs that existed before. */
export interface KeptBlobs {
  /** Read before the first lookup of a file. */
  base: Base;
  /** Contested and empty blobs. */
  unplaced: readonly PlacedBlob[];
  /** The objects with all other new blobs. */
  objects: readonly { key: string; size: number }[];
  /** Resolves when every new byte is durable; awaited before the commit. */
  stored: Promise<unknown>;
  /** Called after the commit of the transaction that took the blobs. */
  markTaken(): void;
}

/**
 * Adds the blobs to the account. Call it first in its transaction, so that it waits for no lock while
 * holding others; then write the manifest that lists the blobs, then call `requireListed`.
 */
export function takeBlobs(tx: Transaction, accountId: string, retained: KeptBlobs, now: Date): void {
  const { unplaced, objects } = retained;
  tx.onConstraint('blob_object_pending', createGoneProblem);
  tx.send(unplaced.length > 0 ? holdBlobs : shareBlobs, { account_id: accountId });
  if (unplaced.length > 0) {
    const { digests, sizes, offsets, keys } = splitColumns(unplaced);
    tx.send(placeContested, { account_id: accountId, digests, sizes, offsets, object_keys: keys, now });
  }
  const keys = objects.map((object) => object.key);
  const sizes = objects.map((object) => object.size);
  if (keys.length > 0) tx.send(takeObjects, { account_id: accountId, object_keys: keys, sizes, now });
  tx.afterCommit(() => retained.markTaken());
}

/**
 * Checks that every file of the manifest exists and is stored. Call it in the transaction of `takeBlobs`;
 * the database works while the last bytes are put.
 */
export async function requireListed(
  tx: Transaction,
  accountId: string,
  manifestDigest: string,
  retained: KeptBlobs,
): Promise<void> {
  tx.onConstraint('blob_there', createGoneProblem);
  const found = tx.query(requireFiles, {
    account_id: accountId,
    manifest_digest: manifestDigest,
    removals: retained.base.removals,
  });
  await Promise.all([found, retained.stored]);
}

function splitColumns(blobs: readonly PlacedBlob[]) {
  return {
    digests: blobs.map((blob) => blob.digest),
    sizes: blobs.map((blob) => blob.size),
    offsets: blobs.map((blob) => blob.offset),
    keys: blobs.map((blob) => blob.key),
  };
}
