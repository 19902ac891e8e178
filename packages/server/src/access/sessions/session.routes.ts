import {
  deleteOwnSessions,
  deleteUserSession,
  deleteUserSessions,
  listOwnSessions,
  listUserSessions,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { lockUser, userById } from '../users/index.ts';
import { buildEndEvent, endSessionsOfUser, presentSession, sessionPage } from './session.store.ts';

export function sessionRoutes({ read, write }: Endpoints): void {
  read(listOwnSessions, async ({ query, page, scope }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(sessionPage, { user_id: scope.actorId, limit, offset });
    const results = rows.map((row) => presentSession(row, scope.sessionId));
    return { body: { page: query.page, results, size: limit, total } };
  });

  write(deleteOwnSessions, async ({ tx, scope, query: { sessionId: id } }) => {
    const { accountId, actorId, sessionId: current } = scope;
    const which = id === undefined ? { but: current } : { only: toUuid(id) };
    const ended = await endSessionsOfUser(tx, accountId, actorId, which);
    if (id !== undefined && ended.length === 0) throw problem('session-not-found', { id });
    return { events: ended.map((session) => buildEndEvent(session, 'ended by request')) };
  });

  read(listUserSessions, async ({ params: { userId: id }, query, rows, page, scope }) => {
    const { limit, offset } = computePageBounds(query);
    const { user_id } = requireRow(await rows(userById, { user_id: toUuid(id) }), () =>
      problem('user-not-found', { id }),
    );
    const { rows: some, total } = await page(sessionPage, { user_id, limit, offset });
    const results = some.map((row) => presentSession(row, scope.sessionId));
    return { body: { page: query.page, results, size: limit, total } };
  });

  write(deleteUserSession, async ({ tx, scope, params: { userId, sessionId: id } }) => {
    const ended = await endSessionsOfUser(tx, scope.accountId, toUuid(userId), { only: toUuid(id) });
    const session = requireRow(ended, () => problem('session-not-found', { id }));
    return { events: [buildEndEvent(session, 'ended by request')] };
  });

  write(deleteUserSessions, async ({ tx, scope, params: { userId } }) => {
    const { user_id } = await lockUser(tx, scope, userId);
    const ended = await endSessionsOfUser(tx, scope.accountId, user_id);
    return { events: ended.map((session) => buildEndEvent(session, 'ended by request')) };
  });
}
