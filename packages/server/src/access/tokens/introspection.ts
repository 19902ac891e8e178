/** What a token is (RFC 7662), and the end of one by whoever holds it (RFC 7009). */
import { type Read, statement, typed } from '../../kernel/database/database.ts';
import { recordEvents } from '../../kernel/database/events.ts';
import { Problem } from '../../kernel/http/problems.ts';
import { findUserAccessId, isUserScope, type Standing } from '../../kernel/security/permissions.ts';
import { personalTokenPrefix } from '../../kernel/security/personal-tokens.ts';
import { type TokenOwner, tokenScope } from '../../kernel/security/tokens.ts';
import { buildRevokeEvent, removePersonalToken } from '../personal-tokens/index.ts';
import { endSession, OAuthRefusal, type ProgramServices, readRefreshToken } from '../programs/index.ts';

type Introspection = { active: false } | ({ active: true; token_type: 'Bearer' } & Record<string, unknown>);

/** A token of another account is as unknown as a wrong one: RFC 7662 §2.2. */
export async function introspect(
  services: ProgramServices,
  accountId: string | undefined,
  token: string,
): Promise<Introspection> {
  const owner = await findOwner(services, token);
  if (owner === undefined || owner.accountId !== accountId) return { active: false };
  if (await hasEnded(services.database.read, owner, services.clock.now())) return { active: false };
  return {
    active: true,
    token_type: 'Bearer',
    scope: tokenScope,
    iss: services.tokens.issuer,
    sub: owner.actorId,
    account: owner.accountId,
    principal_type: isUserScope(owner) ? 'user' : 'credential',
    ...(owner.sessionId === undefined ? {} : { session: owner.sessionId }),
  };
}

async function findOwner({ tokens }: ProgramServices, token: string): Promise<TokenOwner | undefined> {
  try {
    return await tokens.verify(token, 'dpc');
  } catch (failure) {
    if (failure instanceof Problem && failure.code === 'token-invalid') return undefined;
    throw failure;
  }
}

const findStanding = statement(
  {
    parameters: { account_id: 'uuid', principal_id: 'uuid', access_id: 'uuid?', now: 'timestamptz' },
    row: { standing: typed<Standing>('text') },
  },
  `select standing from rights($account_id::uuid, $principal_id::uuid, null, null, '{}', '{}', '{}', $now::timestamptz,
    $access_id::uuid)`,
);

async function hasEnded(read: Read, owner: TokenOwner, now: Date): Promise<boolean> {
  const [row] = await read(findStanding, {
    account_id: owner.accountId,
    principal_id: owner.actorId,
    access_id: findUserAccessId(owner),
    now,
  });
  return row?.standing === 'inactive';
}

/**
 * Holding the token is enough (RFC 7009 §2.1): its finder should revoke it. A refresh token or an access token of a
 * program ends its session; an unknown token is no error. Throws OAuthRefusal for a token of a client.
 */
export async function revoke(services: ProgramServices, requestId: string, token: string): Promise<void> {
  const { database, sealer, clock, newId } = services;
  const owner = await findOwner(services, token);
  const sessionId = readRefreshToken(sealer, token) ?? owner?.sessionId;
  if (sessionId !== undefined) {
    await database.transaction((tx) =>
      endSession(tx, services, requestId, sessionId, 'revoked by the program'),
    );
    return;
  }
  if (owner === undefined) return;
  const { accountId, actorId: userId, userCredentialId: tokenId } = owner;
  if (tokenId === undefined || !token.startsWith(personalTokenPrefix))
    throw new OAuthRefusal(
      'unsupported_token_type',
      'The token of a client ends by itself. Rotate or delete the credential to end it now.',
    );
  await database.transaction(async (tx) => {
    const removed = await removePersonalToken(tx, accountId, { userId, tokenId }).catch(ignoreMissing);
    if (removed === undefined) return;
    const source = { accountId, actorId: userId, actorKind: 'user', requestId } as const;
    recordEvents(tx, source, [buildRevokeEvent(removed)], clock.now(), newId);
  });
}

/** Another request has revoked it. */
function ignoreMissing(failure: unknown): undefined {
  if (failure instanceof Problem && failure.code === 'personal-token-not-found') return undefined;
  throw failure;
}
