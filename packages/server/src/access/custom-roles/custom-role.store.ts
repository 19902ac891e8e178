/** The table `custom_role`. */
import type { CustomRole, CustomRoleLevel, Permission } from '@headgate/contract';
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
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';

const mostOfAccount = 100;

const roleRow = {
  name: 'text',
  description: 'text?',
  level: typed<CustomRoleLevel>('text'),
  permissions: typed<Permission[]>('text[]'),
  version: 'bigint',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
} satisfies ColumnTypes;
export type CustomRoleRow = RowOf<typeof roleRow>;
const columns = Object.keys(roleRow).join(', ');

export const customRolePage = guardedPage(
  { parameters: { limit: 'bigint', offset: 'bigint' }, row: roleRow },
  {
    rows: `
    select ${columns} from custom_role where account_id = $account_id
    order by name limit $limit offset $offset`,
    total: 'select count(*)::bigint as total from custom_role where account_id = $account_id',
  },
);

export const customRoleByName = guardedRead(
  { parameters: { name: 'text' }, row: roleRow },
  `select ${columns} from custom_role where account_id = $account_id and name = $name`,
);

const lockOne = statement(
  { parameters: { account_id: 'uuid', name: 'text' }, row: roleRow },
  `select ${columns} from custom_role where account_id = $account_id and name = $name for update`,
);

/** Throws `custom-role-not-found`. A grant of the role waits. */
export async function lockCustomRole(tx: Transaction, accountId: string, name: string) {
  const found = await tx.query(lockOne, { account_id: accountId, name });
  return requireRow(found, () => problem('custom-role-not-found', { name }));
}

const holdOfLevel = statement(
  {
    parameters: { account_id: 'uuid', level: 'text' },
    row: { name: 'text', permissions: typed<Permission[]>('text[]') },
  },
  `select name, permissions from custom_role where account_id = $account_id and level = $level order by name for share`,
);

/** They stay as they are until the transaction ends. */
export function holdCustomRoles(tx: Transaction, accountId: string, level: CustomRoleLevel) {
  return tx.query(holdOfLevel, { account_id: accountId, level });
}

const lockCount = statement(
  { parameters: { account_id: 'uuid' } },
  "select pg_advisory_xact_lock(hashtextextended('headgate custom roles ' || $account_id::uuid, 0))",
);
const countAll = statement(
  { parameters: { account_id: 'uuid' }, row: { count: 'integer' } },
  'select count(*)::integer as count from custom_role where account_id = $account_id',
);
const insertOne = statement(
  { parameters: { account_id: 'uuid', ...roleRow } },
  `insert into custom_role (account_id, ${columns})
  values ($account_id, ${Object.keys(roleRow)
    .map((column) => `$${column}`)
    .join(', ')})`,
);

/** Throws `too-many-custom-roles` and, at commit, `custom-role-name-taken`. */
export async function insertCustomRole(
  tx: Transaction,
  accountId: string,
  row: CustomRoleRow,
): Promise<void> {
  tx.send(lockCount, { account_id: accountId });
  const [counted] = await tx.query(countAll, { account_id: accountId });
  if ((counted?.count ?? 0) >= mostOfAccount)
    throw problem('too-many-custom-roles', { limit: mostOfAccount });
  tx.onConstraint('custom_role_name_taken', () => problem('custom-role-name-taken', { name: row.name }));
  tx.send(insertOne, { account_id: accountId, ...row });
}

const updateOne = statement(
  { parameters: { account_id: 'uuid', ...roleRow } },
  `update custom_role set description = $description, level = $level, permissions = $permissions, version = $version,
    created_at = $created_at, updated_at = $updated_at
  where account_id = $account_id and name = $name`,
);

export function updateRow(tx: Transaction, accountId: string, row: CustomRoleRow): void {
  tx.send(updateOne, { account_id: accountId, ...row });
}

const deleteOne = statement(
  { parameters: { account_id: 'uuid', name: 'text' } },
  'delete from custom_role where account_id = $account_id and name = $name',
);
const mostNamed = 10;
const selectHolders = statement(
  {
    parameters: { account_id: 'uuid', role: 'text', now: 'timestamptz' },
    row: { kind: 'text', name: 'text' },
  },
  `
  (select 'group' as kind, g.display_name as name from directory_role r
    join directory_group g on g.account_id = r.account_id and g.group_id = r.group_id
    where r.account_id = $account_id and r.project_id is not null and r.role = $role
    order by r.group_id limit ${mostNamed})
  union
  (select p.kind, p.name from role_grant r
    join principal p on p.account_id = r.account_id and p.principal_id = r.principal_id
    where r.account_id = $account_id and r.role = $role limit ${mostNamed})
  union
  (select 'invitation' as kind, i.user_name as name from invitation_role r
    join invitation i on i.account_id = r.account_id and i.invitation_id = r.invitation_id
    where r.account_id = $account_id and r.role = $role limit ${mostNamed})
  union
  (select 'personal token' as kind, t.name from personal_token t
    where t.account_id = $account_id and t.expires_at > $now
      and t.roles @> jsonb_build_array(jsonb_build_object('role', $role::text)) limit ${mostNamed})
  order by kind, name limit ${mostNamed}`,
);

/** Throws `custom-role-in-use`. The role is locked. */
export async function deleteRow(tx: Transaction, accountId: string, name: string, now: Date): Promise<void> {
  const holders = await tx.query(selectHolders, { account_id: accountId, role: name, now });
  const places = holders.map((each) => `the ${each.kind} ${JSON.stringify(each.name)}`);
  if (places.length > 0) throw problem('custom-role-in-use', { places });
  tx.send(deleteOne, { account_id: accountId, name });
}

export function presentCustomRole(row: CustomRoleRow): CustomRole {
  return {
    name: row.name,
    ...(row.description === null ? {} : { description: row.description }),
    level: row.level,
    permissions: row.permissions,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}

export const renderRoleEtag = (row: CustomRoleRow) => makeEntityTag(row.name, row.version);
