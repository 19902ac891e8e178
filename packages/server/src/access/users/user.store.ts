/** The table `directory_user`, for SCIM and /v1/users. */
import type { User } from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
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

/** With the attributes of SCIM that have no column. */
export const storedUser = {
  ...userRow,
  attributes: typed<Record<string, unknown>>('jsonb'),
} satisfies ColumnTypes;
export type StoredUser = RowOf<typeof storedUser>;

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

/** Names that differ only in case, or in how Unicode writes a letter, are the same. */
export function foldName(name: string): string {
  return name.normalize('NFC').toLowerCase();
}

const lockOne = statement(
  {
    parameters: { account_id: 'uuid', user_id: 'uuid' },
    row: { ...storedUser, is_super_admin: 'boolean' },
  },
  `
  select ${userColumns}, attributes, exists (
      select from directory_member m join directory_group g on g.account_id = m.account_id and g.group_id = m.group_id
      where m.account_id = r.account_id and m.user_id = r.user_id and g.project_id is null and g.role = 'SUPER_ADMIN')
    as is_super_admin
  from directory_user r where r.account_id = $account_id and r.user_id = $user_id for update`,
);
export type LockedUser = StoredUser & { is_super_admin: boolean };

/** Throws `user-not-found`. */
export async function lockUser(tx: Transaction, scope: Scope, id: string): Promise<LockedUser> {
  const found = await tx.query(lockOne, { account_id: scope.accountId, user_id: toUuid(id) });
  return requireRow(found, () => problem('user-not-found', { id }));
}

const { created_at: createdAt, ...updated } = {
  account_id: 'uuid',
  ...userRow,
  user_name_key: 'text',
  attributes: 'jsonb',
} as const;

const insertOne = statement(
  { parameters: { ...updated, created_at: createdAt }, row: { user_id: 'uuid' } },
  `
  insert into directory_user (account_id, user_id, user_name, user_name_key, external_id, display_name, active, attributes,
    version, created_at, updated_at)
  values ($account_id, $user_id, $user_name, $user_name_key, $external_id, $display_name, $active, $attributes, $version,
    $created_at, $updated_at)
  on conflict do nothing returning user_id`,
);

function toParameters({ accountId }: Scope, user: StoredUser) {
  const { user_id, user_name, external_id, display_name, active, attributes, version, updated_at } = user;
  const columns = { user_id, user_name, external_id, display_name, active, version, updated_at };
  return {
    ...columns,
    account_id: accountId,
    user_name_key: foldName(user_name),
    attributes: JSON.stringify(attributes),
  };
}

/** Throws `user-name-taken`. Nothing is changed then, so that a Bulk request can go on. */
export async function insertUser(tx: Transaction, scope: Scope, user: StoredUser): Promise<void> {
  const made = await tx.query(insertOne, { ...toParameters(scope, user), created_at: user.created_at });
  if (made.length === 0) throw problem('user-name-taken', { name: user.user_name });
}

const selectNamesake = statement(
  {
    parameters: { account_id: 'uuid', user_id: 'uuid', user_name_key: 'text' },
    row: { user_id: 'uuid' },
  },
  `
  select user_id from directory_user
  where account_id = $account_id and user_name_key = $user_name_key and user_id <> $user_id`,
);
const updateOne = statement(
  { parameters: updated },
  `
  update directory_user set user_name = $user_name, user_name_key = $user_name_key, external_id = $external_id,
    display_name = $display_name, active = $active, attributes = $attributes, version = $version, updated_at = $updated_at
  where account_id = $account_id and user_id = $user_id`,
);

/** Throws `user-name-taken`. */
export async function updateUser(
  tx: Transaction,
  scope: Scope,
  before: StoredUser,
  user: StoredUser,
): Promise<void> {
  const parameters = toParameters(scope, user);
  if (foldName(before.user_name) !== parameters.user_name_key) {
    const { account_id, user_id, user_name_key } = parameters;
    const taken = () => problem('user-name-taken', { name: user.user_name });
    if ((await tx.query(selectNamesake, { account_id, user_id, user_name_key })).length > 0) throw taken();
    tx.onConstraint('directory_user_name_taken', taken);
  }
  tx.send(updateOne, parameters);
}

const leaveGroups = statement(
  {
    parameters: { account_id: 'uuid', user_id: 'uuid', now: 'timestamptz' },
    row: { group_id: 'uuid', display_name: 'text', gives_role: 'boolean', is_emptied: 'boolean' },
  },
  `
  update directory_group g set version = g.version + 1, updated_at = $now
  from directory_member m
  where m.account_id = $account_id and m.user_id = $user_id and g.account_id = m.account_id and g.group_id = m.group_id
  returning g.group_id, g.display_name,
    exists (select from directory_role r where r.account_id = g.account_id and r.group_id = g.group_id) as gives_role,
    not exists (select from directory_member o where o.account_id = g.account_id and o.group_id = g.group_id and o.user_id <> $user_id)
      as is_emptied`,
);
const deleteOne = statement(
  { parameters: { account_id: 'uuid', user_id: 'uuid' } },
  'delete from directory_user where account_id = $account_id and user_id = $user_id',
);

/** With the user's memberships, personal credentials and grants. Returns the groups that the user was in. */
export async function deleteUser(tx: Transaction, scope: Scope, userId: string, now: Date) {
  const of = { account_id: scope.accountId, user_id: userId };
  const left = await tx.query(leaveGroups, { ...of, now });
  tx.send(deleteOne, of);
  return left;
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
