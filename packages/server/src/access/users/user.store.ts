/** The table `directory_user`. SCIM changes it too. */
import type { User } from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
} from '../../kernel/database/database.ts';
import { foldName } from '../../kernel/fold-name.ts';
import { makeEntityTag } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

export const userRow = {
  user_id: 'uuid',
  user_name: 'text',
  display_name: 'text?',
  external_id: 'text?',
  active: 'boolean',
  version: 'bigint',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
} satisfies ColumnTypes;
export type UserRow = RowOf<typeof userRow>;

export const userColumns =
  'user_id, user_name, display_name, external_id, active, version, created_at, updated_at';

export const userPage = guardedPage(
  { parameters: { limit: 'bigint', offset: 'bigint' }, row: userRow },
  {
    rows: `
    select ${userColumns} from directory_user where account_id = $account_id
    order by user_name_key limit $limit offset $offset`,
    total: 'select count(*)::bigint as total from directory_user where account_id = $account_id',
  },
);

export const userByName = guardedRead(
  { parameters: { user_name_key: 'text' }, row: userRow },
  `select ${userColumns} from directory_user where account_id = $account_id and user_name_key = $user_name_key`,
);

export const userById = guardedRead(
  { parameters: { user_id: 'uuid' }, row: userRow },
  `select ${userColumns} from directory_user where account_id = $account_id and user_id = $user_id`,
);

const written = {
  account_id: 'uuid',
  ...userRow,
  user_name_key: 'text',
} as const;

const insertOne = statement(
  { parameters: written },
  `
  insert into directory_user (account_id, user_id, user_name, user_name_key, external_id, display_name, active,
    attributes, version, created_at, updated_at)
  values ($account_id, $user_id, $user_name, $user_name_key, $external_id, $display_name, $active, '{}', $version,
    $created_at, $updated_at)`,
);

function toParameters({ accountId }: Scope, row: UserRow) {
  return { ...row, account_id: accountId, user_name_key: foldName(row.user_name) };
}

function refuseTakenName(tx: Transaction, { user_name: name }: UserRow): void {
  tx.onConstraint('directory_user_name_taken', () => problem('user-name-taken', { name }));
}

/** Throws `user-name-taken`. */
export function insertUser(tx: Transaction, scope: Scope, row: UserRow): void {
  refuseTakenName(tx, row);
  tx.send(insertOne, toParameters(scope, row));
}

const lockOne = statement(
  { parameters: { account_id: 'uuid', user_id: 'uuid' }, row: userRow },
  `
  select ${userColumns} from directory_user
  where account_id = $account_id and user_id = $user_id for update`,
);

/** Throws `user-not-found`. */
export async function lockUser(tx: Transaction, scope: Scope, id: string): Promise<UserRow> {
  const found = await tx.query(lockOne, { account_id: scope.accountId, user_id: toUuid(id) });
  return requireRow(found, () => problem('user-not-found', { id }));
}

const { created_at: _, ...updated } = written;
const updateOne = statement(
  { parameters: updated },
  `
  update directory_user set user_name = $user_name, user_name_key = $user_name_key, external_id = $external_id,
    display_name = $display_name, active = $active, version = $version, updated_at = $updated_at
  where account_id = $account_id and user_id = $user_id`,
);

/** Throws `user-name-taken`. */
export function updateUserRow(tx: Transaction, scope: Scope, row: UserRow): void {
  refuseTakenName(tx, row);
  const { created_at: _createdAt, ...parameters } = toParameters(scope, row);
  tx.send(updateOne, parameters);
}

const selectAlone = statement(
  { parameters: { account_id: 'uuid', user_id: 'uuid' }, row: { group_id: 'uuid', display_name: 'text' } },
  `
  select g.group_id, g.display_name from directory_member m
  join directory_group g on g.account_id = m.account_id and g.group_id = m.group_id
  where m.account_id = $account_id and m.user_id = $user_id
    and exists (select from directory_role r where r.account_id = m.account_id and r.group_id = m.group_id)
    and not exists (
      select from directory_member o
      where o.account_id = m.account_id and o.group_id = m.group_id and o.user_id <> m.user_id)
  order by g.display_name_key`,
);

/** The groups with a role whose only member is the user. */
export function findGroupsOfOnly(tx: Transaction, scope: Scope, userId: string) {
  return tx.query(selectAlone, { account_id: scope.accountId, user_id: userId });
}

const deleteOne = statement(
  { parameters: { account_id: 'uuid', user_id: 'uuid' } },
  'delete from directory_user where account_id = $account_id and user_id = $user_id',
);

/** Memberships, personal credentials and grants of the user are deleted by cascade. */
export function deleteUserRow(tx: Transaction, scope: Scope, userId: string): void {
  tx.send(deleteOne, { account_id: scope.accountId, user_id: userId });
}

export function renderUserEtag({ user_id: id, version }: UserRow): string {
  return makeEntityTag(id, version);
}

export function presentUser(row: UserRow): User {
  const user: User = {
    userId: row.user_id,
    userName: row.user_name,
    active: row.active,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
  if (row.display_name !== null) user.displayName = row.display_name;
  if (row.external_id !== null) user.externalId = row.external_id;
  return user;
}
