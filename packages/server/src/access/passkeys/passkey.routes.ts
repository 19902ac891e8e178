import { deleteOwnPasskeys, deleteUserPasskey, listOwnPasskeys, listUserPasskeys } from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { userById } from '../users/index.ts';
import { deletePasskeys, passkeyPage, presentPasskey } from './passkey.store.ts';

export function passkeyRoutes({ read, write }: Endpoints): void {
  read(listOwnPasskeys, async ({ query, page, scope }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(passkeyPage, { user_id: scope.actorId, limit, offset });
    return { body: { page: query.page, results: rows.map(presentPasskey), size: limit, total } };
  });

  write(deleteOwnPasskeys, async ({ tx, scope: { accountId, actorId }, query: { passkeyId: id } }) => {
    const events = await deletePasskeys(tx, accountId, actorId, id === undefined ? undefined : toUuid(id));
    if (id !== undefined && events.length === 0) throw problem('passkey-not-found', { id });
    return { events };
  });

  read(listUserPasskeys, async ({ params: { userId: id }, query, rows, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { user_id } = requireRow(await rows(userById, { user_id: toUuid(id) }), () =>
      problem('user-not-found', { id }),
    );
    const { rows: some, total } = await page(passkeyPage, { user_id, limit, offset });
    return { body: { page: query.page, results: some.map(presentPasskey), size: limit, total } };
  });

  write(deleteUserPasskey, async ({ tx, scope: { accountId }, params: { userId, passkeyId: id } }) => {
    const events = await deletePasskeys(tx, accountId, toUuid(userId), toUuid(id));
    requireRow(events, () => problem('passkey-not-found', { id }));
    return { events };
  });
}
