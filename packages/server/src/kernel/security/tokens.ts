/**
 * Access tokens: RFC 9068 JWTs (`at+jwt`), signed with ES256. Verified signatures are cached until the token
 * expires; whether the owner is still active is checked at every request.
 */
import { randomUUID } from 'node:crypto';
import { type JWK, jwtVerify, SignJWT } from 'jose';
import type { Clock } from '../clock.ts';
import { problem } from '../http/problems.ts';
import { type PersonalTokens, personalTokenPrefix } from './personal-tokens.ts';
import { type SigningKeys, signingAlgorithm, tokenLifetimeSeconds } from './signing-keys.ts';

export const tokenScope = 'pipeline-execution';
const cacheLimit = 20_000;
/** The tolerated clock difference between servers. */
const clockToleranceSeconds = 5;

/** The API that a token is for: the management API or the agent protocol. */
export type Surface = 'dpc' | 'agent';

export interface TokenOwner {
  accountId: string;
  /** The id of a credential, a user or an agent. */
  actorId: string;
  /** The personal credential by which a user got the token, or the personal token itself. */
  userCredentialId?: string | undefined;
  /** The session of the browser, or that of the program for which the user signed in. */
  sessionId?: string | undefined;
  /** Set for a user without a personal credential: in a session, or in a token that does not leave the process. */
  isUser?: boolean | undefined;
  /** Other principals that need the rights too. Only for tokens that do not leave the process. */
  otherActorIds?: readonly string[] | undefined;
  /** The generation of the agent's secret for which the token was issued. */
  generation?: number | undefined;
}

export interface Tokens {
  issue(owner: TokenOwner & { clientId: string }, surface: Surface): Promise<string>;
  /** Throws `token-invalid`. */
  verify(token: string, surface: Surface): Promise<TokenOwner>;
  listPublicKeys(): { keys: JWK[] };
  issuer: string;
}

export function createTokens(services: {
  keys: SigningKeys;
  clock: Clock;
  region: string;
  publicUrl: string;
  personalTokens: PersonalTokens;
}): Tokens {
  const { personalTokens, keys, clock, region, publicUrl } = services;
  const audience: Record<Surface, string> = { dpc: `headgate:${region}`, agent: `headgate:${region}:agents` };
  const verified = new Map<string, Verified>();

  async function check(token: string, surface: Surface): Promise<TokenOwner> {
    const now = clock.now();
    const { payload, protectedHeader } = await jwtVerify(
      token,
      async ({ kid }) => {
        const key = kid === undefined ? undefined : await keys.find(kid);
        if (key === undefined) throw new Error('signed by an unknown key');
        return key.verifier;
      },
      {
        algorithms: [signingAlgorithm],
        typ: 'at+jwt',
        issuer: publicUrl,
        audience: audience[surface],
        currentDate: now,
        clockTolerance: clockToleranceSeconds,
        requiredClaims: ['sub', 'exp', 'account'],
      },
    );
    const {
      generation,
      user_credential: userCredentialId,
      other_actors: otherActorIds,
      is_user: isUser,
      session: sessionId,
    } = payload;
    const owner: TokenOwner = { accountId: String(payload.account), actorId: String(payload.sub) };
    if (typeof generation === 'number') owner.generation = generation;
    if (typeof userCredentialId === 'string') owner.userCredentialId = userCredentialId;
    if (isUser === true) owner.isUser = true;
    if (typeof sessionId === 'string') owner.sessionId = sessionId;
    if (Array.isArray(otherActorIds)) owner.otherActorIds = otherActorIds.map(String);
    if (verified.size >= cacheLimit) verified.delete(verified.keys().next().value ?? '');
    const expiresAt = (payload.exp ?? 0) * 1_000;
    verified.set(token, { owner, surface, keyId: protectedHeader.kid ?? '', expiresAt });
    return owner;
  }

  return {
    issuer: publicUrl,
    async issue(owner, surface) {
      const key = keys.findCurrent();
      const issuedAt = Math.floor(clock.now().getTime() / 1_000);
      const { clientId, accountId, generation, userCredentialId, sessionId, otherActorIds } = owner;
      const ofAgent = generation === undefined ? {} : { generation };
      const ofUser = userCredentialId === undefined ? {} : { user_credential: userCredentialId };
      const inSession = sessionId === undefined ? {} : { session: sessionId };
      const asUser = owner.isUser === true ? { is_user: true } : {};
      const withOthers = otherActorIds === undefined ? {} : { other_actors: otherActorIds };
      return new SignJWT({
        client_id: clientId,
        account: accountId,
        scope: tokenScope,
        ...ofAgent,
        ...ofUser,
        ...inSession,
        ...asUser,
        ...withOthers,
      })
        .setProtectedHeader({ alg: signingAlgorithm, typ: 'at+jwt', kid: key.keyId })
        .setIssuer(publicUrl)
        .setSubject(owner.actorId)
        .setAudience(audience[surface])
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + tokenLifetimeSeconds)
        .setJti(randomUUID())
        .sign(key.private);
    },
    async verify(token, surface) {
      if (surface === 'dpc' && token.startsWith(personalTokenPrefix)) return personalTokens.findOwner(token);
      const known = verified.get(token);
      if (known !== undefined && known.surface === surface) {
        if (known.expiresAt > clock.now().getTime() && keys.isPublished(known.keyId)) return known.owner;
        verified.delete(token);
      }
      try {
        return await check(token, surface);
      } catch (failure) {
        throw problem('token-invalid', { reason: describeRefusal(failure) });
      }
    },
    listPublicKeys: () => ({ keys: keys.listPublished().map((key) => key.publicKey) }),
  };
}

interface Verified {
  owner: TokenOwner;
  surface: Surface;
  keyId: string;
  expiresAt: number;
}

function describeRefusal(failure: unknown): string {
  const code = failure instanceof Error && 'code' in failure ? failure.code : undefined;
  const claim = failure instanceof Error && 'claim' in failure ? failure.claim : undefined;
  if (code === 'ERR_JWT_EXPIRED') return 'it has expired; get a new one.';
  if (claim === 'aud') return 'it is for another API or region.';
  if (claim === 'iss') return 'another service issued it.';
  return 'this service did not sign it.';
}
