/** SQL of the collector: finds and removes unreferenced manifests, blobs and objects. */
import {
  type ColumnTypes,
  type Read,
  type RowOf,
  statement,
  type Transaction,
} from '../../kernel/database/database.ts';
import { holdBlobsAlone } from './taking.store.ts';

/** Rows per transaction of a pass. */
export const batchRows = 500;

/** Ordered by id. */
export const nextAccounts = statement(
  { parameters: { after: 'uuid?' }, row: { account_id: 'uuid' }, alone: true },
  `
  select account_id from account where account_id > coalesce($after::uuid, '00000000-0000-0000-0000-000000000000')
  order by account_id limit ${batchRows}`,
);

// Manifests

/**
 * An SQL condition on the manifest `m` of the account `$account_id`: it is referenced, so its files are
 * kept.
 */
export type ManifestUse = string;

export type ManifestStatements = ReturnType<typeof buildManifestStatements>;

/** A slice whose rows reference manifests. Manifests that match one of the conditions are kept. */
export interface ManifestUser {
  manifestUses: readonly ManifestUse[];
}

export function buildManifestStatements(uses: readonly ManifestUse[]) {
  const used = `(${uses.map((use) => `(${use})`).join(' or ')})`;
  return {
    condemn: statement(
      {
        parameters: { account_id: 'uuid', after: 'text', now: 'timestamptz' },
        row: { condemned: 'integer', cursor: 'text?', looked: 'integer' },
        alone: true,
      },
      `
      with looked as (
        select digest from manifest where account_id = $account_id and digest > $after order by digest limit ${batchRows}
      ), gone as (
        update manifest m set condemned_at = $now
        where m.account_id = $account_id and m.digest in (select digest from looked) and m.condemned_at is null
          and not ${used}
        returning 1
      )
      select (select count(*) from gone)::integer as condemned, max(digest) as cursor, count(*)::integer as looked from looked`,
    ),
    remove: statement(
      {
        parameters: { account_id: 'uuid', digest: 'text', condemned_before: 'timestamptz' },
        row: { chunks: 'bytea[]' },
        alone: true,
      },
      `
      delete from manifest m where m.account_id = $account_id and m.digest = $digest
        and m.condemned_at <= $condemned_before and not ${used}
      returning m.chunks`,
    ),
    acquit: statement(
      { parameters: { account_id: 'uuid', digest: 'text' }, alone: true },
      `
      update manifest m set condemned_at = null where m.account_id = $account_id and m.digest = $digest and ${used}`,
    ),
  };
}

export const dueManifests = statement(
  {
    parameters: { account_id: 'uuid', condemned_before: 'timestamptz' },
    row: { digest: 'text' },
    alone: true,
  },
  `
  select digest from manifest where account_id = $account_id
    and condemned_at <= $condemned_before order by condemned_at limit ${batchRows}`,
);

// Chunks

const countRemoval = statement(
  { parameters: { account_id: 'uuid' }, alone: true },
  'update account set blob_removals = blob_removals + 1 where account_id = $account_id',
);

const deleteChunks = statement(
  { parameters: { account_id: 'uuid', chunks: 'bytea[]' }, row: { digests: 'text[]' }, alone: true },
  `
  delete from manifest_chunk c where c.account_id = $account_id and c.digest = any($chunks)
    and (select count(*) from manifest m where m.account_id = $account_id and m.chunks @> array[c.digest]) = 0
  returning array(select encode(file, 'hex') from unnest(c.digests) as file) as digests`,
);

/**
 * Removes the chunks of a removed manifest that no other manifest has, in the same transaction. Returns the
 * digests of the blobs that they listed.
 */
export async function removeUnlistedChunks(
  tx: Transaction,
  accountId: string,
  chunks: readonly Buffer[],
): Promise<string[]> {
  const rows = await tx.query(deleteChunks, { account_id: accountId, chunks });
  if (rows.length > 0) tx.send(countRemoval, { account_id: accountId });
  return [...new Set(rows.flatMap((row) => row.digests))];
}

// Blobs

// A count, because for `exists` the planner may expect an early match and read all chunks, though there is
// mostly none.
const isInManifest = (blob: string) =>
  `(select count(*) from manifest_chunk c where c.account_id = $account_id and c.digests @> array[decode(${blob}.digest, 'hex')]) > 0`;

const condemnBlobs = statement(
  { parameters: { account_id: 'uuid', digests: 'text[]', now: 'timestamptz' }, alone: true },
  `
  update blob b set condemned_at = $now
  where b.account_id = $account_id and b.digest = any($digests) and b.condemned_at is null and not ${isInManifest('b')}`,
);

/**
 * Condemns blobs that no manifest lists any more. Call it in the transaction that removed their chunks;
 * later nothing would find them.
 */
export function condemnUnlisted(
  tx: Transaction,
  accountId: string,
  digests: readonly string[],
  now: Date,
): void {
  tx.send(condemnBlobs, { account_id: accountId, digests, now });
}

const removeDueBlobs = statement(
  {
    parameters: { account_id: 'uuid', condemned_before: 'timestamptz' },
    row: { looked: 'integer', removed: 'integer' },
    alone: true,
  },
  `
  with due as materialized (
    select b.digest, ${isInManifest('b')} as listed
    from blob b where b.account_id = $account_id and b.condemned_at <= $condemned_before order by b.condemned_at
      limit ${batchRows}
  ), gone as (
    delete from blob b using due where b.account_id = $account_id and b.digest = due.digest and not due.listed
      and b.condemned_at <= $condemned_before
    returning b.object_key, b.size
  ), acquitted as (
    update blob b set condemned_at = null from due where b.account_id = $account_id and b.digest = due.digest and due.listed
  ), shrunk as (
    update blob_object o set live_bytes = o.live_bytes - g.bytes
    from (select object_key, sum(size) as bytes from gone group by object_key) g
    where o.account_id = $account_id and o.object_key = g.object_key
  )
  select (select count(*) from due)::integer as looked, (select count(*) from gone)::integer as removed`,
);

/** Runs in its own transaction, so that no upload references the blobs meanwhile. */
export async function removeCondemnedBlobs(
  tx: Transaction,
  accountId: string,
  before: Date,
): Promise<{ looked: number; removed: number }> {
  holdBlobsAlone(tx, accountId);
  const [row] = await tx.query(removeDueBlobs, { account_id: accountId, condemned_before: before });
  const { looked, removed } = row ?? { looked: 0, removed: 0 };
  if (removed > 0) tx.send(countRemoval, { account_id: accountId });
  return { looked, removed };
}

// Objects

const doomEmpty = statement(
  { parameters: { account_id: 'uuid', now: 'timestamptz' }, alone: true },
  `
  update blob_object set state = 'doomed', since = $now
  where account_id = $account_id and state = 'live' and live_bytes * 2 < size and live_bytes = 0`,
);
const doomLeft = statement(
  {
    parameters: { account_id: 'uuid', pending_before: 'timestamptz', now: 'timestamptz' },
    row: { object_key: 'text' },
    alone: true,
  },
  `
  update blob_object set state = 'doomed', since = $now
  where account_id = $account_id and state = 'pending' and since <= $pending_before returning object_key`,
);
// No index: it would cost each upload more than it saves here, and interrupted uploads are rare.
const deletePlaced = statement(
  { parameters: { account_id: 'uuid', object_keys: 'text[]' }, alone: true },
  'delete from blob where account_id = $account_id and object_key = any($object_keys)',
);

/** Dooms packs without blobs, and packs of unfinished uploads with the blobs placed in them. */
export async function doomObjects(
  tx: Transaction,
  accountId: string,
  before: Date,
  now: Date,
): Promise<void> {
  holdBlobsAlone(tx, accountId);
  tx.send(doomEmpty, { account_id: accountId, now });
  const left = await tx.query(doomLeft, { account_id: accountId, pending_before: before, now });
  const keys = left.map((row) => row.object_key);
  if (keys.length > 0) tx.send(deletePlaced, { account_id: accountId, object_keys: keys });
}

export const dueObjects = statement(
  {
    parameters: { account_id: 'uuid', doomed_before: 'timestamptz' },
    row: { object_key: 'text' },
    alone: true,
  },
  `
  select object_key from blob_object where account_id = $account_id and state = 'doomed'
    and since <= $doomed_before order by since limit ${batchRows}`,
);

/**
 * Packs of which less than half is used. A pack that became empty after the doomed ones were selected waits
 * for the next pass.
 */
export const sparseObjects = statement(
  { parameters: { account_id: 'uuid' }, row: { object_key: 'text' }, alone: true },
  `
  select object_key from blob_object where account_id = $account_id and state = 'live' and live_bytes * 2 < size
    and live_bytes > 0
  order by object_key limit 100`,
);

const blobOfObject = {
  digest: 'text',
  size: 'bigint',
  object_offset: 'bigint',
} satisfies ColumnTypes;
export type BlobOfObject = RowOf<typeof blobOfObject>;

export const blobsOfObject = statement(
  { parameters: { account_id: 'uuid', object_key: 'text' }, row: blobOfObject, alone: true },
  `
  select digest, size, object_offset from blob where account_id = $account_id
    and object_key = $object_key order by object_offset`,
);

const insertPending = statement(
  { parameters: { account_id: 'uuid', object_key: 'text', now: 'timestamptz' }, alone: true },
  `
  insert into blob_object (account_id, object_key, state, size, live_bytes, since) values ($account_id,
    $object_key, 'pending', 0, 0, $now)`,
);

/** Call it before putting the bytes. */
export async function announceObject(read: Read, accountId: string, key: string, now: Date): Promise<void> {
  await read(insertPending, { account_id: accountId, object_key: key, now });
}

const moveBlobs = statement(
  {
    parameters: {
      account_id: 'uuid',
      from_key: 'text',
      to_key: 'text',
      digests: 'text[]',
      offsets: 'bigint[]',
      size: 'bigint',
      now: 'timestamptz',
    },
    alone: true,
  },
  `
  with moved as (
    update blob b set object_key = $to_key, object_offset = g.at
    from unnest($digests::text[], $offsets::bigint[]) as g (digest, at)
    where b.account_id = $account_id and b.object_key = $from_key and b.digest = g.digest
    returning b.size
  ), made as (
    update blob_object set state = 'live', since = $now, size = $size, live_bytes = coalesce((select sum(size)
      from moved), 0)
    where account_id = $account_id and object_key = $to_key and state = 'pending' returning true
  )
  select breach('blob_object_pending') where not exists (select from made)`,
);
const doomOld = statement(
  { parameters: { account_id: 'uuid', object_key: 'text', now: 'timestamptz' }, alone: true },
  `
  update blob_object set state = 'doomed', since = $now where account_id = $account_id
    and object_key = $object_key and state = 'live'`,
);

/** Moves the blobs of one object to another one, and dooms the old object. */
export function moveToObject(
  tx: Transaction,
  accountId: string,
  from: string,
  to: { key: string; size: number; blobs: readonly { digest: string; offset: number }[] },
  now: Date,
): void {
  const digests = to.blobs.map((blob) => blob.digest);
  const offsets = to.blobs.map((blob) => blob.offset);
  tx.send(moveBlobs, {
    account_id: accountId,
    from_key: from,
    to_key: to.key,
    digests,
    offsets,
    size: to.size,
    now,
  });
  tx.send(doomOld, { account_id: accountId, object_key: from, now });
}

const selectObjects = statement(
  { parameters: { account_id: 'uuid', object_keys: 'text[]' }, row: { object_key: 'text' }, alone: true },
  'select object_key from blob_object where account_id = $account_id and object_key = any($object_keys)',
);

/** Returns the keys that have a row. */
export async function findKnownObjects(
  read: Read,
  accountId: string,
  keys: readonly string[],
): Promise<Set<string>> {
  const rows = await read(selectObjects, { account_id: accountId, object_keys: keys });
  return new Set(rows.map((row) => row.object_key));
}
