/** Users as SCIM shows them. */
import {
  type ColumnTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../../kernel/database/database.ts';
import { problem } from '../../../kernel/http/problems.ts';
import { toUuid } from '../../../kernel/identifiers.ts';
import { guardedPage, guardedRead } from '../../../kernel/security/guarded-read.ts';
import type { Scope } from '../../../kernel/security/permissions.ts';
import type { Link } from '../../groups/index.ts';
import { storedUser, userColumns } from '../../users/index.ts';
import type { SqlParameters } from './scim-filter-sql.ts';

const shownUser = { ...storedUser, groups: typed<Link[] | null>('json') } satisfies ColumnTypes;
export type UserRow = RowOf<typeof shownUser>;

const ownColumns = `${userColumns}, attributes`;
const groups = `(
    select coalesce(json_agg(json_build_array(g.group_id, g.display_name) order by g.group_id), '[]')
    from directory_member m join directory_group g on g.account_id = m.account_id and g.group_id = m.group_id
    where m.account_id = r.account_id and m.user_id = r.user_id)`;
const columns = `${ownColumns}, case when $with_groups then ${groups} end as groups`;

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

export function searchUsers({ condition = 'true', order, parameters }: Search, withGroups: boolean) {
  const where = `where r.account_id = $account_id and ${condition}`;
  const by = order === undefined ? 'r.user_id' : `${order}, r.user_id`;
  return guardedPage(
    {
      parameters: { ...parameters.types, limit: 'bigint', offset: 'bigint' },
      row: shownUser,
      passing: true,
    },
    {
      rows: `
      select ${ownColumns}, ${withGroups ? groups : 'null::json'} as groups from directory_user r ${where}
      order by ${by} limit $limit offset $offset`,
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
