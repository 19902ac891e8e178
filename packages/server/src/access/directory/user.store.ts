/** The table `directory_user`. */
import {
  type ColumnTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { foldName } from '../../kernel/fold-name.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import type { SqlParameters } from './scim-filter-sql.ts';

const userColumns = {
  user_id: 'uuid',
  user_name: 'text',
  external_id: 'text?',
  display_name: 'text?',
  active: 'boolean',
  attributes: typed<Record<string, unknown>>('jsonb'),
  version: 'bigint',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
} satisfies ColumnTypes;
/** A user as stored. */
export type StoredUser = RowOf<typeof userColumns>;

/** Of a membership: the id and name of its other side. */
export type Link = readonly [id: string, display: string];

const shownUser = { ...userColumns, groups: typed<Link[] | null>('json') } satisfies ColumnTypes;
export type UserRow = RowOf<typeof shownUser>;

const ownColumns =
  'r.user_id, r.user_name, r.external_id, r.display_name, r.active, r.attributes, r.version, r.created_at, r.updated_at';
const columns = `${ownColumns}, case when $with_groups then (
    select coalesce(json_agg(json_build_array(g.group_id, g.display_name) order by g.group_id), '[]')
    from directory_member m join directory_group g on g.account_id = m.account_id and g.group_id = m.group_id
    where m.account_id = r.account_id and m.user_id = r.user_id) end as groups`;

export const userById = guardedRead(
  { parameters: { user_id: 'uuid', with_groups: 'boolean' }, row: shownUser },
  `select ${columns} from directory_user r where r.account_id = $account_id and r.user_id = $user_id`,
);

/** A caller who is no user. */
export const credentialById = guardedRead(
  { parameters: { caller_id: 'uuid' }, row: { name: 'text' } },
  'select c.name from credential c where c.account_id = $account_id and c.credential_id = $caller_id',
);

/** What a list asks for, in SQL. */
export interface Search {
  condition: string | undefined;
  order: string | undefined;
  parameters: SqlParameters;
}

export function searchUsers({ condition = 'true', order, parameters }: Search) {
  const where = `where r.account_id = $account_id and ${condition}`;
  const by = order === undefined ? 'r.user_id' : `${order}, r.user_id`;
  return guardedPage(
    {
      parameters: { ...parameters.types, with_groups: 'boolean', limit: 'bigint', offset: 'bigint' },
      row: shownUser,
      passing: true,
    },
    {
      rows: `select ${columns} from directory_user r ${where} order by ${by} limit $limit offset $offset`,
      total: `select count(*)::bigint as total from directory_user r ${where}`,
    },
  );
}

const selectOne = statement(
  { parameters: { account_id: 'uuid', user_id: 'uuid', with_groups: 'boolean' }, row: shownUser },
  `select ${columns} from directory_user r where r.account_id = $account_id and r.user_id = $user_id`,
);

export async function requireUser(
  tx: Transaction,
  scope: Scope,
  id: string,
  withGroups: boolean,
): Promise<UserRow> {
  const found = await tx.query(selectOne, {
    account_id: scope.accountId,
    user_id: toUuid(id),
    with_groups: withGroups,
  });
  return requireRow(found, () => problem('user-not-found', { id }));
}

const lockOne = statement(
  {
    parameters: { account_id: 'uuid', user_id: 'uuid' },
    row: { ...userColumns, is_super_admin: 'boolean' },
  },
  `
  select ${ownColumns}, exists (
      select from directory_member m join directory_role g on g.account_id = m.account_id and g.group_id = m.group_id
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

const written = {
  account_id: 'uuid',
  user_id: 'uuid',
  user_name: 'text',
  user_name_key: 'text',
  external_id: 'text?',
  display_name: 'text?',
  active: 'boolean',
  attributes: 'jsonb',
  version: 'bigint',
  updated_at: 'timestamptz',
} as const;

const insertOne = statement(
  { parameters: { ...written, created_at: 'timestamptz' }, row: { user_id: 'uuid' } },
  `
  insert into directory_user (account_id, user_id, user_name, user_name_key, external_id, display_name, active, attributes,
    version, created_at, updated_at)
  values ($account_id, $user_id, $user_name, $user_name_key, $external_id, $display_name, $active, $attributes, $version,
    $created_at, $updated_at)
  on conflict do nothing returning user_id`,
);

function writtenValues(scope: Scope, user: StoredUser) {
  return {
    account_id: scope.accountId,
    user_id: user.user_id,
    user_name: user.user_name,
    user_name_key: foldName(user.user_name),
    external_id: user.external_id,
    display_name: user.display_name,
    active: user.active,
    attributes: JSON.stringify(user.attributes),
    version: user.version,
    updated_at: user.updated_at,
  };
}

/** Throws `user-name-taken`. Nothing is changed then, so that a Bulk request can go on. */
export async function insertUser(tx: Transaction, scope: Scope, user: StoredUser): Promise<void> {
  const made = await tx.query(insertOne, { ...writtenValues(scope, user), created_at: user.created_at });
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
  { parameters: written },
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
  const values = writtenValues(scope, user);
  if (foldName(before.user_name) !== values.user_name_key) {
    const { account_id, user_id, user_name_key } = values;
    const others = await tx.query(selectNamesake, { account_id, user_id, user_name_key });
    if (others.length > 0) throw problem('user-name-taken', { name: user.user_name });
    tx.onConstraint('directory_user_name_taken', () => problem('user-name-taken', { name: user.user_name }));
  }
  tx.send(updateOne, values);
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

/** Returns the groups that the user was in. */
export async function removeUser(tx: Transaction, scope: Scope, userId: string, now: Date) {
  const of = { account_id: scope.accountId, user_id: userId };
  const left = await tx.query(leaveGroups, { ...of, now });
  tx.send(deleteOne, of);
  return left;
}
