import { createUser, deleteUser, getUser, listUsers, updateUser } from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { requireLastingSuperAdmin } from '../custom-roles/index.ts';
import { lockSuperAdminsOfUser } from './super-admin.store.ts';
import {
  foldName,
  insertUser,
  lockUser,
  presentUser,
  renderUserEtag,
  type StoredUser,
  type UserRow,
  updateUser as updateRow,
  userById,
  userByName,
  userPage,
} from './user.store.ts';
import { removeUser, requireOtherIfSuperAdmin } from './user-deletion.ts';

export function userRoutes({ read, write }: Endpoints): void {
  read(listUsers, async ({ query, rows, page }) => {
    const { limit, offset } = computePageBounds(query);
    if (query.userName !== undefined) {
      const found = await rows(userByName, { user_name_key: foldName(query.userName) });
      const results = found.slice(offset).map(presentUser);
      return { body: { page: query.page, results, size: limit, total: found.length } };
    }
    const { rows: some, total } = await page(userPage, { limit, offset });
    return { body: { page: query.page, results: some.map(presentUser), size: limit, total } };
  });

  read(getUser, async ({ params: { userId: id }, rows }) => {
    const row = requireRow(await rows(userById, { user_id: toUuid(id) }), () =>
      problem('user-not-found', { id }),
    );
    return { body: presentUser(row), etag: renderUserEtag(row) };
  });

  write(createUser, async ({ tx, scope, body, now, newId }) => {
    const row: StoredUser = {
      user_id: newId(),
      user_name: body.userName,
      display_name: body.displayName ?? null,
      external_id: body.externalId ?? null,
      active: body.active ?? true,
      attributes: {},
      version: 1,
      created_at: now,
      updated_at: now,
    };
    await insertUser(tx, scope, row);
    const after = presentUser(row);
    return {
      body: after,
      etag: renderUserEtag(row),
      location: `/v1/users/${row.user_id}`,
      events: [{ name: 'user-created', subject: buildSubject(row), after }],
    };
  });

  write(updateUser, async ({ tx, scope, params, headers, body, now }) => {
    lockSuperAdminsOfUser(tx, scope, toUuid(params.userId));
    const stored = await lockUser(tx, scope, params.userId);
    requireMatch(headers['If-Match'], renderUserEtag(stored));
    const row: StoredUser = {
      ...stored,
      user_name: body.userName ?? stored.user_name,
      display_name: body.displayName === undefined ? stored.display_name : body.displayName,
      external_id: body.externalId === undefined ? stored.external_id : body.externalId,
      active: body.active ?? stored.active,
      version: stored.version + 1,
      updated_at: now,
    };
    // Whoever has the name at an issuer would sign in as the user.
    const isOpened =
      row.user_name !== stored.user_name ||
      row.external_id !== stored.external_id ||
      (row.active && !stored.active);
    if (stored.is_super_admin && isOpened) await requireLastingSuperAdmin(tx, { scope, now }, null);
    if (!row.active) await requireOtherIfSuperAdmin(tx, scope, stored);
    await updateRow(tx, scope, stored, row);
    const states = { before: presentUser(stored), after: presentUser(row) };
    const subject = buildSubject(row);
    const events: AccountEvent[] = [{ name: 'user-updated', subject, ...states }];
    if (row.active !== stored.active)
      events.push({
        name: row.active ? 'user-activated' : 'user-deactivated',
        subject,
        before: { active: stored.active },
        after: { active: row.active },
      });
    return { body: states.after, etag: renderUserEtag(row), events };
  });

  write(deleteUser, async ({ tx, scope, params, headers, now }) => {
    lockSuperAdminsOfUser(tx, scope, toUuid(params.userId));
    const stored = await lockUser(tx, scope, params.userId);
    requireMatch(headers['If-Match'], renderUserEtag(stored));
    const { events } = await removeUser(tx, scope, stored, now);
    const before = presentUser(stored);
    return { events: [...events, { name: 'user-deleted', subject: buildSubject(stored), before }] };
  });
}

function buildSubject({ user_id: id, user_name: name }: UserRow) {
  return { type: 'user', id, name };
}
