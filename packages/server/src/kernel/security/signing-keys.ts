/**
 * The keys that sign tokens. All servers of a database share them; the private halves are sealed.
 *
 * Terminology
 *   published   in the database and so in every server's JWKS: its tokens are accepted
 *   signing     the one key that new tokens are signed by: the newest whose time has come
 *   waiting     published, its time still to come: servers and whoever keeps the JWKS learn of it before they meet a token of it
 *   spent       no token signed by it can be alive: it is removed
 */
import { createHash } from 'node:crypto';
import {
  type CryptoKey,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  importJWK,
  importPKCS8,
  type JWK,
} from 'jose';
import { addSeconds, type Clock } from '../clock.ts';
import { type ColumnTypes, type Database, type RowOf, statement, typed } from '../database/database.ts';
import type { Log } from '../log.ts';
import { type Sealer, Secret } from './sealed.ts';

export const signingAlgorithm = 'ES256';
/** decisions.md §3: 30 minutes. */
export const tokenLifetimeSeconds = 1_800;
/** How long others may keep the JWKS; its Cache-Control says so. */
export const jwksSeconds = 300;
/** How long a key waits: every server looks for new keys much more often, and a kept JWKS is older by then. */
const waitingSeconds = 2 * jwksSeconds;
/** How much longer than its last token a key stays: the clocks of two servers may differ. */
const spareSeconds = 600;
export const signingKeyPurpose = 'signing key';
/** Tokens that name unknown keys make a server look for new ones this often at most. */
const lookAgainMilliseconds = 1_000;

export interface SigningKey {
  keyId: string;
  publicKey: JWK;
  signsFrom: Date;
  private: CryptoKey;
  verifier: CryptoKey | Uint8Array;
}

export interface SigningKeys {
  /** The signing key. */
  findCurrent(): SigningKey;
  /** Newest first. */
  listPublished(): readonly SigningKey[];
  isPublished(keyId: string): boolean;
  /** A published key, also one that another server made a moment ago. */
  find(keyId: string): Promise<SigningKey | undefined>;
  /** Makes a key when the newest is old, removes spent ones, and learns what other servers and the operator did. */
  refresh(): Promise<void>;
}

export interface KeyStore {
  database: Database;
  sealer: Sealer;
  clock: Clock;
}

const keyRow = {
  key_id: 'text',
  public_key: typed<JWK>('jsonb'),
  private_key_sealed: 'bytea',
  signs_from: 'timestamptz',
} satisfies ColumnTypes;
type KeyRow = RowOf<typeof keyRow>;

const selectKeys = statement(
  { row: keyRow },
  'select key_id, public_key, private_key_sealed, signs_from from signing_key order by signs_from desc, key_id',
);
const insertKey = statement(
  {
    parameters: {
      key_id: 'text',
      public_key: 'jsonb',
      private_key_sealed: 'bytea',
      created_at: 'timestamptz',
      signs_from: 'timestamptz',
    },
  },
  'insert into signing_key (key_id, public_key, private_key_sealed, created_at, signs_from) values ($key_id, $public_key, $private_key_sealed, $created_at, $signs_from)',
);
const deleteKeys = statement(
  { parameters: { key_ids: 'text[]' } },
  'delete from signing_key where key_id = any($key_ids)',
);
const lockKeys = statement({}, 'lock table signing_key in share row exclusive mode');

/** `by-age`: a new key when the newest signs for that long, undefined for never. `leaked`: no key but a new one counts any more. */
export type Rotation = { why: 'by-age'; days: number | undefined } | { why: 'asked' } | { why: 'leaked' };

export interface Rotated {
  /** The newest key, made now or before. */
  keyId: string;
  signsFrom: Date;
  isNew: boolean;
}

export async function openSigningKeys(
  store: KeyStore & { log: Log; rotationDays: number | undefined },
): Promise<SigningKeys> {
  const { database, sealer, clock, log } = store;
  let keys: readonly SigningKey[] = [];
  let byId: ReadonlyMap<string, SigningKey> = new Map();
  let lookedAt = 0;
  let looking: Promise<void> | undefined;

  async function load(): Promise<void> {
    lookedAt = clock.now().getTime();
    const rows = await database.read(selectKeys, {});
    keys = await Promise.all(rows.map(async (row) => byId.get(row.key_id) ?? (await openRow(row, sealer))));
    byId = new Map(keys.map((key) => [key.keyId, key]));
  }

  function reload(): Promise<void> {
    looking ??= load().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  async function refresh(): Promise<void> {
    const made = await rotateKeys(store, { why: 'by-age', days: store.rotationDays });
    if (made.isNew) log.info({ keyId: made.keyId, signsFrom: made.signsFrom }, 'created a signing key');
    await reload();
  }

  await refresh();
  return {
    findCurrent() {
      const now = clock.now();
      // At the very first start of several servers whose clocks differ, the one key there is may seem to wait.
      const key = keys.find(({ signsFrom }) => signsFrom <= now) ?? keys.at(-1);
      if (key === undefined) throw new Error('There is no signing key.');
      return key;
    },
    listPublished: () => keys,
    isPublished: (keyId) => byId.has(keyId),
    async find(keyId) {
      const known = byId.get(keyId);
      if (known !== undefined || clock.now().getTime() - lookedAt < lookAgainMilliseconds) return known;
      await reload();
      return byId.get(keyId);
    },
    refresh,
  };
}

/** One rotation, whoever else rotates at the same moment: each decides anew under the lock of the table. */
export async function rotateKeys(
  { database, sealer, clock }: KeyStore,
  rotation: Rotation,
): Promise<Rotated> {
  const now = clock.now();
  const found = await database.read(selectKeys, {});
  const [newest] = found;
  if (newest !== undefined && isUnchanged(planChanges(found, rotation, now))) return toRotated(newest, false);
  return database.transaction(async (tx) => {
    tx.send(lockKeys, {});
    const rows = await tx.query(selectKeys, {});
    const { signsFrom, remove } = planChanges(rows, rotation, now);
    if (remove.length > 0) tx.send(deleteKeys, { key_ids: remove });
    const [last] = rows;
    if (signsFrom === undefined && last !== undefined) return toRotated(last, false);
    // Whoever has another master key must not make a key that the others cannot open.
    if (last !== undefined) sealer.unseal(last.private_key_sealed, signingKeyPurpose);
    const made = await makeKey(sealer);
    tx.send(insertKey, {
      key_id: made.key_id,
      public_key: JSON.stringify(made.public_key),
      private_key_sealed: made.private_key_sealed,
      created_at: now,
      signs_from: signsFrom ?? now,
    });
    return toRotated({ key_id: made.key_id, signs_from: signsFrom ?? now }, true);
  });
}

const toRotated = (row: Pick<KeyRow, 'key_id' | 'signs_from'>, isNew: boolean): Rotated => ({
  keyId: row.key_id,
  signsFrom: row.signs_from,
  isNew,
});

interface Changes {
  /** Of a key to be made. */
  signsFrom?: Date;
  remove: string[];
}

const isUnchanged = ({ signsFrom, remove }: Changes) => signsFrom === undefined && remove.length === 0;

/** What is to be done with the keys, newest first. */
function planChanges(rows: readonly KeyRow[], rotation: Rotation, now: Date): Changes {
  const [newest] = rows;
  if (newest === undefined) return { signsFrom: now, remove: [] };
  if (rotation.why === 'leaked') return { signsFrom: now, remove: rows.map(({ key_id }) => key_id) };
  const remove = rows.filter((_, index) => isSpent(rows[index - 1], now)).map(({ key_id }) => key_id);
  const waits = newest.signs_from > now;
  const isDue = rotation.why === 'asked' || isOlder(newest.signs_from, rotation.days, now);
  return waits || !isDue ? { remove } : { signsFrom: addSeconds(now, waitingSeconds), remove };
}

/** A key is spent when the last token that was signed before its successor began has ended. */
function isSpent(successor: KeyRow | undefined, now: Date): boolean {
  return (
    successor !== undefined && addSeconds(successor.signs_from, tokenLifetimeSeconds + spareSeconds) < now
  );
}

function isOlder(since: Date, days: number | undefined, now: Date): boolean {
  return days !== undefined && addSeconds(since, days * 86_400) <= now;
}

async function openRow(row: KeyRow, sealer: Sealer): Promise<SigningKey> {
  const pem = sealer.unseal(row.private_key_sealed, signingKeyPurpose);
  return {
    keyId: row.key_id,
    publicKey: row.public_key,
    signsFrom: row.signs_from,
    private: await importPKCS8(pem.reveal(), signingAlgorithm),
    verifier: await importJWK(row.public_key, signingAlgorithm),
  };
}

async function makeKey(sealer: Sealer) {
  const { publicKey, privateKey } = await generateKeyPair(signingAlgorithm, { extractable: true });
  const jwk = await exportJWK(publicKey);
  const keyId = createHash('sha256').update(JSON.stringify(jwk)).digest('base64url').slice(0, 16);
  const pem = new Secret(await exportPKCS8(privateKey));
  return {
    key_id: keyId,
    public_key: { ...jwk, kid: keyId, alg: signingAlgorithm, use: 'sig' },
    private_key_sealed: sealer.seal(pem, signingKeyPurpose),
  };
}
