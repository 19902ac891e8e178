/** What of manifests, blobs and objects nothing refers to any more, as the tables tell it. */
import { type Read, type Statement, statement, type Transaction } from '../../kernel/database/database.ts';
import { holdBlobsAlone } from './taking.store.ts';

/** A pass looks at so many rows in one transaction. */
export const batchRows = 500;

/** In their order. Parameter: the one before, or null. */
export const nextAccounts = statement<{ account_id: string }>(
  `
  select account_id from account where account_id > coalesce($1::uuid, '00000000-0000-0000-0000-000000000000')
  order by account_id limit ${batchRows}`,
  { alone: true },
);

// Manifests

/** A condition on the manifest `m` of the account $1: something refers to it, which must keep its files. */
export type ManifestUse = string;

/** A slice whose rows refer to manifests. Nothing that one of its conditions finds is removed. */
export interface ManifestUser {
  manifestUses: readonly ManifestUse[];
}

export interface ManifestStatements {
  /** Parameters: account, digest of the batch before, now. */
  condemn: Statement<{ condemned: number; cursor: string | null; looked: number }>;
  /** Parameters: account, digest, condemned before. */
  remove: Statement<{ chunks: Buffer[] }>;
  /** Parameters: account, digest. */
  acquit: Statement<never>;
}

export function manifestStatements(uses: readonly ManifestUse[]): ManifestStatements {
  const used = `(${uses.map((use) => `(${use})`).join(' or ')})`;
  return {
    condemn: statement(
      `
      with looked as (
        select digest from manifest where account_id = $1 and digest > $2 order by digest limit ${batchRows}
      ), gone as (
        update manifest m set condemned_at = $3
        where m.account_id = $1 and m.digest in (select digest from looked) and m.condemned_at is null and not ${used}
        returning 1
      )
      select (select count(*) from gone)::integer as condemned, max(digest) as cursor, count(*)::integer as looked from looked`,
      { alone: true },
    ),
    remove: statement(
      `
      delete from manifest m where m.account_id = $1 and m.digest = $2 and m.condemned_at <= $3 and not ${used}
      returning m.chunks`,
      { alone: true },
    ),
    acquit: statement(
      `
      update manifest m set condemned_at = null where m.account_id = $1 and m.digest = $2 and ${used}`,
      { alone: true },
    ),
  };
}

/** Parameters: account, condemned before. */
export const dueManifests = statement<{ digest: string }>(
  `
  select digest from manifest where account_id = $1 and condemned_at <= $2 order by condemned_at limit ${batchRows}`,
  { alone: true },
);

// Chunks

const countRemoval = statement('update account set blob_removals = blob_removals + 1 where account_id = $1', {
  alone: true,
});

const deleteChunks = statement<{ digests: string[] }>(
  `
  delete from manifest_chunk c where c.account_id = $1 and c.digest = any($2)
    and (select count(*) from manifest m where m.account_id = $1 and m.chunks @> array[c.digest]) = 0
  returning array(select encode(file, 'hex') from unnest(c.digests) as file) as digests`,
  { alone: true },
);

/**
 * Of a manifest that is removed in the same transaction, those that no other one has. Answers the digests of
 * the blobs that they listed.
 */
export async function removeUnlistedChunks(
  tx: Transaction,
  accountId: string,
  chunks: readonly Buffer[],
): Promise<string[]> {
  const rows = await tx.query(deleteChunks, [accountId, chunks]);
  if (rows.length > 0) tx.send(countRemoval, [accountId]);
  return [...new Set(rows.flatMap((row) => row.digests))];
}

// Blobs

// Counted: for `exists` the planner may hope to meet one soon, and read all chunks, though mostly there is
// none.
const inManifest = (blob: string) =>
  `(select count(*) from manifest_chunk c where c.account_id = $1 and c.digests @> array[decode(${blob}.digest, 'hex')]) > 0`;

const condemnBlobs = statement(
  `
  update blob b set condemned_at = $3
  where b.account_id = $1 and b.digest = any($2) and b.condemned_at is null and not ${inManifest('b')}`,
  { alone: true },
);

/**
 * Those that were in a manifest and are in none now. In the transaction that removed its chunks, or they
 * would never be found.
 */
export function condemnUnlisted(
  tx: Transaction,
  accountId: string,
  digests: readonly string[],
  now: Date,
): void {
  tx.send(condemnBlobs, [accountId, digests, now]);
}

const removeDueBlobs = statement<{ looked: number; removed: number }>(
  `
  with due as materialized (
    select b.digest, ${inManifest('b')} as listed
    from blob b where b.account_id = $1 and b.condemned_at <= $2 order by b.condemned_at limit ${batchRows}
  ), gone as (
    delete from blob b using due where b.account_id = $1 and b.digest = due.digest and not due.listed and b.condemned_at <= $2
    returning b.object_key, b.size
  ), acquitted as (
    update blob b set condemned_at = null from due where b.account_id = $1 and b.digest = due.digest and due.listed
  ), shrunk as (
    update blob_object o set live_bytes = o.live_bytes - g.bytes
    from (select object_key, sum(size) as bytes from gone group by object_key) g
    where o.account_id = $1 and o.object_key = g.object_key
  )
  select (select count(*) from due)::integer as looked, (select count(*) from gone)::integer as removed`,
  { alone: true },
);

/** In a transaction of its own: no upload refers to them meanwhile. */
export async function removeCondemnedBlobs(
  tx: Transaction,
  accountId: string,
  before: Date,
): Promise<{ looked: number; removed: number }> {
  holdBlobsAlone(tx, accountId);
  const [row] = await tx.query(removeDueBlobs, [accountId, before]);
  const { looked, removed } = row ?? { looked: 0, removed: 0 };
  if (removed > 0) tx.send(countRemoval, [accountId]);
  return { looked, removed };
}

// Objects

const doomEmpty = statement(
  `
  update blob_object set state = 'doomed', since = $2
  where account_id = $1 and state = 'live' and live_bytes * 2 < size and live_bytes = 0`,
  { alone: true },
);
const doomLeft = statement<{ object_key: string }>(
  `
  update blob_object set state = 'doomed', since = $3
  where account_id = $1 and state = 'pending' and since <= $2 returning object_key`,
  { alone: true },
);
// No index serves this: it would cost each upload more than it saves here, and what is killed in the middle
// is rare.
const deletePlaced = statement('delete from blob where account_id = $1 and object_key = any($2)', {
  alone: true,
});

/** Packs none of whose blobs is left, and those of uploads that never ended, with what is placed in them. */
export async function doomObjects(
  tx: Transaction,
  accountId: string,
  before: Date,
  now: Date,
): Promise<void> {
  holdBlobsAlone(tx, accountId);
  tx.send(doomEmpty, [accountId, now]);
  const left = await tx.query(doomLeft, [accountId, before, now]);
  const keys = left.map((row) => row.object_key);
  if (keys.length > 0) tx.send(deletePlaced, [accountId, keys]);
}

/** Parameters: account, doomed before. */
export const dueObjects = statement<{ object_key: string }>(
  `
  select object_key from blob_object where account_id = $1 and state = 'doomed' and since <= $2 order by since limit ${batchRows}`,
  { alone: true },
);

/**
 * Packs of which less than half is left. One that has nothing since the doomed ones were looked for waits for
 * the next pass. Parameter: account.
 */
export const sparseObjects = statement<{ object_key: string }>(
  `
  select object_key from blob_object where account_id = $1 and state = 'live' and live_bytes * 2 < size and live_bytes > 0
  order by object_key limit 100`,
  { alone: true },
);

export interface BlobOfObject {
  digest: string;
  size: number;
  object_offset: number;
}

/** Parameters: account, key. */
export const blobsOfObject = statement<BlobOfObject>(
  `
  select digest, size, object_offset from blob where account_id = $1 and object_key = $2 order by object_offset`,
  { alone: true },
);

const insertPending = statement(
  `
  insert into blob_object (account_id, object_key, state, size, live_bytes, since) values ($1, $2, 'pending', 0, 0, $3)`,
  { alone: true },
);

/** Before its bytes are put. */
export async function announceObject(read: Read, accountId: string, key: string, now: Date): Promise<void> {
  await read(insertPending, [accountId, key, now]);
}

const moveBlobs = statement(
  `
  with moved as (
    update blob b set object_key = $3, object_offset = g.at
    from unnest($4::text[], $5::bigint[]) as g (digest, at)
    where b.account_id = $1 and b.object_key = $2 and b.digest = g.digest
    returning b.size
  ), made as (
    update blob_object set state = 'live', since = $7, size = $6, live_bytes = coalesce((select sum(size) from moved), 0)
    where account_id = $1 and object_key = $3 and state = 'pending' returning true
  )
  select breach('blob_object_pending') where not exists (select from made)`,
  { alone: true },
);
const doomOld = statement(
  `
  update blob_object set state = 'doomed', since = $3 where account_id = $1 and object_key = $2 and state = 'live'`,
  { alone: true },
);

/** The blobs of one object have their place in another one from now on. */
export function moveToObject(
  tx: Transaction,
  accountId: string,
  from: string,
  to: { key: string; size: number; blobs: readonly { digest: string; offset: number }[] },
  now: Date,
): void {
  const digests = to.blobs.map((blob) => blob.digest);
  const offsets = to.blobs.map((blob) => blob.offset);
  tx.send(moveBlobs, [accountId, from, to.key, digests, offsets, to.size, now]);
  tx.send(doomOld, [accountId, from, now]);
}

const selectObjects = statement<{ object_key: string }>(
  'select object_key from blob_object where account_id = $1 and object_key = any($2)',
  { alone: true },
);

/** Which of the keys the database knows. */
export async function knownObjects(
  read: Read,
  accountId: string,
  keys: readonly string[],
): Promise<Set<string>> {
  const rows = await read(selectObjects, [accountId, keys]);
  return new Set(rows.map((row) => row.object_key));
}
