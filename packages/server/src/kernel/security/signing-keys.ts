/**
 * The keys that sign tokens. All servers of a database share them; the private keys are sealed.
 *
 * Terminology
 *   published   in the database, and so in every server's JWKS: its tokens are accepted
 *   signing     the key that signs new tokens: the newest whose start time has passed
 *   waiting     published, but not signing yet, so that servers and caches of the JWKS learn it before its tokens
 *   spent       all tokens signed by it have expired: it is deleted
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
/** 30 minutes. */
export const tokenLifetimeSeconds = 1_800;
/** How long clients may cache the JWKS; sent as Cache-Control. */
export const jwksSeconds = 300;
/** How long a key waits. By then every server has loaded it, and cached JWKS have expired. */
const waitingSeconds = 2 * jwksSeconds;
/** How much longer a key stays than its last token: the clocks of servers may differ. */
const spareSeconds = 600;
export const signingKeyPurpose = 'signing key';
/** Tokens with unknown key ids make a server look for new keys at most this often. */
const lookAgainMilliseconds = 1_000;

export interface SigningKey {
  keyId: string;
  publicKey: JWK;
  signsFrom: Date;
  private: CryptoKey;
  verifier: CryptoKey | Uint8Array;
}

export interface SigningKeys {
  /** The key that signs new tokens. */
  findCurrent(): SigningKey;
  /** Newest first. */
  listPublished(): readonly SigningKey[];
  isPublished(keyId: string): boolean;
  /** Finds a published key, including one that another server has just created. */
  find(keyId: string): Promise<SigningKey | undefined>;
  /**
   * Creates a key if the newest is too old, deletes spent keys, and loads changes by other servers and the
   * operator.
   */
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

/**
 * `by-age`: create a key if the newest is older than `days`; undefined means never. `leaked`: delete all keys
 * and create a new one.
 */
export type Rotation = { why: 'by-age'; days: number | undefined } | { why: 'asked' } | { why: 'leaked' };

export interface Rotated {
  /** The newest key, existing or new. */
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
      // When several servers start for the first time and their clocks differ, the only key may seem to wait.
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

/** Rotates once. Concurrent rotations decide again under the table lock, so that only one creates a key. */
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
    // A server with another master key must fail here, not create a key that the others cannot use.
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
  /** Set if a key must be created. */
  signsFrom?: Date;
  remove: string[];
}

const isUnchanged = ({ signsFrom, remove }: Changes) => signsFrom === undefined && remove.length === 0;

/** Decides which keys to create and delete. `rows` are sorted by age, newest first. */
function planChanges(rows: readonly KeyRow[], rotation: Rotation, now: Date): Changes {
  const [newest] = rows;
  if (newest === undefined) return { signsFrom: now, remove: [] };
  if (rotation.why === 'leaked') return { signsFrom: now, remove: rows.map(({ key_id }) => key_id) };
  const remove = rows.filter((_, index) => isSpent(rows[index - 1], now)).map(({ key_id }) => key_id);
  const waits = newest.signs_from > now;
  const isDue = rotation.why === 'asked' || isOlder(newest.signs_from, rotation.days, now);
  return waits || !isDue ? { remove } : { signsFrom: addSeconds(now, waitingSeconds), remove };
}

/** A key is spent when the tokens signed before its successor took over have expired. */
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
