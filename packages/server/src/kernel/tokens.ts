/**
 * Access tokens: RFC 9068 JWTs (`at+jwt`), signed with ES256 by a key whose private half is kept sealed.
 * A verified signature is remembered until the token expires; whether its owner is still active is asked at every request.
 */
import { createHash, randomUUID } from 'node:crypto';
import {
  type CryptoKey,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  importJWK,
  importPKCS8,
  type JWK,
  jwtVerify,
  SignJWT,
} from 'jose';
import type { Clock } from './clock.ts';
import { type Database, statement } from './database.ts';
import { problem } from './problems.ts';
import { type Sealer, Secret } from './sealed.ts';

/** decisions.md §3: 30 minutes. */
export const tokenLifetimeSeconds = 1_800;
export const tokenScope = 'pipeline-execution';
const algorithm = 'ES256';
export const signingKeyPurpose = 'signing key';
const cacheLimit = 20_000;
/** How far the clocks of two servers may differ. */
const clockToleranceSeconds = 5;

/** For whom a token is: the management interface, or the agent protocol. */
export type Surface = 'dpc' | 'agent';

export interface TokenOwner {
  accountId: string;
  /** A credential's id, or an agent's. */
  actorId: string;
}

export interface Tokens {
  issue(owner: TokenOwner & { clientId: string }, surface: Surface): Promise<string>;
  /** Throws `token-invalid`. */
  verify(token: string, surface: Surface): Promise<TokenOwner>;
  publicKeys(): { keys: JWK[] };
  issuer: string;
}

interface SigningKey {
  keyId: string;
  publicKey: JWK;
  private: CryptoKey;
}

const selectKeys = statement<{ key_id: string; public_key: JWK; private_key_sealed: Buffer }>(
  'select key_id, public_key, private_key_sealed from signing_key order by created_at desc, key_id',
);
const insertKey = statement(
  'insert into signing_key (key_id, public_key, private_key_sealed, created_at) values ($1, $2, $3, $4)',
);
const lockKeys = statement('lock table signing_key in share row exclusive mode');

export async function openTokens(services: {
  database: Database;
  sealer: Sealer;
  clock: Clock;
  region: string;
  publicUrl: string;
}): Promise<Tokens> {
  const { database, sealer, clock, region, publicUrl } = services;
  const keys = await loadKeys(database, sealer, clock);
  const current = keys[0];
  if (current === undefined) throw new Error('There is no signing key.');
  const verifiers = new Map<string, CryptoKey | Uint8Array>();
  for (const key of keys) verifiers.set(key.keyId, await importJWK(key.publicKey, algorithm));
  const audience: Record<Surface, string> = { dpc: `headgate:${region}`, agent: `headgate:${region}:agents` };
  const verified = new Map<string, { owner: TokenOwner; surface: Surface; expiresAt: number }>();

  async function check(token: string, surface: Surface): Promise<TokenOwner> {
    const now = clock.now();
    const { payload } = await jwtVerify(
      token,
      ({ kid }) => {
        const key = kid === undefined ? undefined : verifiers.get(kid);
        if (key === undefined) throw new Error('signed by an unknown key');
        return key;
      },
      {
        algorithms: [algorithm],
        typ: 'at+jwt',
        issuer: publicUrl,
        audience: audience[surface],
        currentDate: now,
        clockTolerance: clockToleranceSeconds,
        requiredClaims: ['sub', 'exp', 'account'],
      },
    );
    const owner = { accountId: String(payload.account), actorId: String(payload.sub) };
    if (verified.size >= cacheLimit) verified.delete(verified.keys().next().value ?? '');
    verified.set(token, { owner, surface, expiresAt: (payload.exp ?? 0) * 1_000 });
    return owner;
  }

  return {
    issuer: publicUrl,
    async issue(owner, surface) {
      const issuedAt = Math.floor(clock.now().getTime() / 1_000);
      return new SignJWT({ client_id: owner.clientId, account: owner.accountId, scope: tokenScope })
        .setProtectedHeader({ alg: algorithm, typ: 'at+jwt', kid: current.keyId })
        .setIssuer(publicUrl)
        .setSubject(owner.actorId)
        .setAudience(audience[surface])
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + tokenLifetimeSeconds)
        .setJti(randomUUID())
        .sign(current.private);
    },
    async verify(token, surface) {
      const known = verified.get(token);
      if (known !== undefined && known.surface === surface) {
        if (known.expiresAt > clock.now().getTime()) return known.owner;
        verified.delete(token);
      }
      try {
        return await check(token, surface);
      } catch (failure) {
        throw problem('token-invalid', { reason: reasonOf(failure) });
      }
    },
    publicKeys: () => ({ keys: keys.map((key) => key.publicKey) }),
  };
}

function reasonOf(failure: unknown): string {
  const code = failure instanceof Error && 'code' in failure ? failure.code : undefined;
  const claim = failure instanceof Error && 'claim' in failure ? failure.claim : undefined;
  if (code === 'ERR_JWT_EXPIRED') return 'it has expired; get a new one.';
  if (claim === 'aud') return 'it is for another interface or region.';
  if (claim === 'iss') return 'another service issued it.';
  return 'it is not a token that this service signed.';
}

async function loadKeys(database: Database, sealer: Sealer, clock: Clock): Promise<SigningKey[]> {
  const rows = await database.transaction(async (tx) => {
    tx.send(lockKeys, []);
    const found = await tx.query(selectKeys, []);
    if (found.length > 0) return found;
    const made = await makeKey(sealer);
    tx.send(insertKey, [made.key_id, JSON.stringify(made.public_key), made.private_key_sealed, clock.now()]);
    return [made];
  });
  return Promise.all(
    rows.map(async (row) => ({
      keyId: row.key_id,
      publicKey: row.public_key,
      private: await importPKCS8(
        sealer.unseal(row.private_key_sealed, signingKeyPurpose).reveal(),
        algorithm,
      ),
    })),
  );
}

async function makeKey(sealer: Sealer) {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const jwk = await exportJWK(publicKey);
  const keyId = createHash('sha256').update(JSON.stringify(jwk)).digest('base64url').slice(0, 16);
  const pem = new Secret(await exportPKCS8(privateKey));
  return {
    key_id: keyId,
    public_key: { ...jwk, kid: keyId, alg: algorithm, use: 'sig' },
    private_key_sealed: sealer.seal(pem, signingKeyPurpose),
  };
}
