import {
  createOwnToken,
  deleteOwnToken,
  deleteUserToken,
  listOwnTokens,
  listUserTokens,
  mostTokenDays,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { digestPersonalToken, generatePersonalToken } from '../../kernel/security/personal-tokens.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import { readRoles } from '../credentials/index.ts';
import { lockUser, userById } from '../users/index.ts';
import {
  buildRevokeEvent,
  insertPersonalToken,
  personalTokenPage,
  presentPersonalToken,
  removePersonalToken,
  requireKnownProjects,
} from './personal-token.store.ts';

const dayMilliseconds = 86_400_000;

export function personalTokenRoutes({ read, write }: Endpoints, { sealer }: { sealer: Sealer }): void {
  read(listOwnTokens, async ({ query, page, scope }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(personalTokenPage, { user_id: scope.actorId, limit, offset });
    return { body: { page: query.page, results: rows.map(presentPersonalToken), size: limit, total } };
  });

  write(createOwnToken, async ({ tx, scope, body, now, newId }) => {
    // A token or a credential could make one with more rights, or that lasts longer, than itself.
    if (scope.sessionId === undefined) throw problem('session-required');
    const expiresAt = new Date(body.expiresAt);
    if (expiresAt <= now) throw problem('expiry-in-the-past');
    if (expiresAt.getTime() > now.getTime() + mostTokenDays * dayMilliseconds)
      throw problem('personal-token-too-long', { mostDays: mostTokenDays });
    const isNarrowed = body.role !== undefined || body.roles !== undefined;
    const { accountRole, grants } = await readRoles(
      tx,
      { scope, now },
      { role: body.role ?? 'MEMBER', roles: body.roles },
    );
    const { user_id: userId, user_name: userName } = await lockUser(tx, scope, scope.actorId);
    await requireKnownProjects(
      tx,
      scope,
      grants.map(({ projectId }) => projectId),
      now,
    );
    const token = generatePersonalToken();
    const tokenId = newId();
    await insertPersonalToken(tx, scope, {
      personal_token_id: tokenId,
      user_id: userId,
      name: body.name,
      secret_digest: digestPersonalToken(sealer, token.reveal()),
      account_role: isNarrowed ? accountRole : null,
      roles: JSON.stringify(grants),
      created_at: now,
      expires_at: expiresAt,
    });
    const narrowing = isNarrowed ? { role: accountRole, roles: grants } : {};
    const after = { tokenId, name: body.name, expiresAt: expiresAt.toISOString(), ...narrowing };
    const subject = { type: 'user', id: userId, name: userName };
    return {
      body: { tokenId, token: token.reveal() },
      events: [{ name: 'personal-token-created', subject, after }],
    };
  });

  write(deleteOwnToken, async ({ tx, scope, params: { tokenId } }) => {
    const removed = await removePersonalToken(tx, scope.accountId, { userId: scope.actorId, tokenId });
    return { events: [buildRevokeEvent(removed)] };
  });

  read(listUserTokens, async ({ params: { userId: id }, query, rows, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { user_id } = requireRow(await rows(userById, { user_id: toUuid(id) }), () =>
      problem('user-not-found', { id }),
    );
    const { rows: some, total } = await page(personalTokenPage, { user_id, limit, offset });
    return { body: { page: query.page, results: some.map(presentPersonalToken), size: limit, total } };
  });

  write(deleteUserToken, async ({ tx, scope, params }) => {
    const removed = await removePersonalToken(tx, scope.accountId, params);
    return { events: [buildRevokeEvent(removed)] };
  });
}
