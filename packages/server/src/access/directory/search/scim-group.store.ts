/** Groups as SCIM shows them. */
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
import { type Link, selectGroup, storedGroup } from '../../groups/index.ts';
import type { Search } from './scim-user.store.ts';

const shownGroup = {
  ...storedGroup,
  account_name: 'text',
  members: typed<Link[] | null>('json'),
} satisfies ColumnTypes;
export type GroupRow = RowOf<typeof shownGroup>;

const ownColumns = `${selectGroup('r')}, (select a.name from account a where a.account_id = r.account_id) as account_name`;
const link = 'json_build_array(m.user_id, coalesce(u.display_name, u.user_name)) order by m.user_id';
const columns = `${ownColumns}, case when $with_members then (
      select coalesce(json_agg(${link}), '[]')
      from directory_member m join directory_user u on u.account_id = m.account_id and u.user_id = m.user_id
      where m.account_id = r.account_id and m.group_id = r.group_id) end as members`;

export const groupById = guardedRead(
  { parameters: { group_id: 'uuid', with_members: 'boolean' }, row: shownGroup },
  `select ${columns} from directory_group r where r.account_id = $account_id and r.group_id = $group_id`,
);

export function searchGroups({ condition = 'true', order, parameters }: Search, withMembers: boolean) {
  const where = `where r.account_id = $account_id and ${condition}`;
  const by = order === undefined ? 'r.group_id' : `${order}, r.group_id`;
  const page = (members: string) => `
    select ${ownColumns}${members} from directory_group r ${where} order by ${by} limit $limit offset $offset`;
  return guardedPage(
    {
      parameters: { ...parameters.types, limit: 'bigint', offset: 'bigint' },
      row: shownGroup,
      passing: true,
    },
    {
      rows: withMembers ? addMembers(page('')) : page(', null::json as members'),
      total: `select count(*)::bigint as total from directory_group r ${where}`,
    },
  );
}

/** The members of all groups in one scan: a subselect for each group takes twice the time. */
const addMembers = (page: string) => `
  with page as materialized (select p.*, row_number() over () as place from (${page}) p),
  joined as (
    select m.group_id, json_agg(${link}) as members
    from directory_member m
    join directory_user u on u.account_id = m.account_id and u.user_id = m.user_id
    where m.account_id = $account_id and m.group_id in (select page.group_id from page)
    group by m.group_id)
  select ${Object.keys(storedGroup)
    .map((column) => `r.${column}`)
    .join(', ')}, r.account_name, coalesce(joined.members, '[]') as members
  from page r left join joined on joined.group_id = r.group_id
  order by r.place`;

const selectOne = statement(
  { parameters: { account_id: 'uuid', group_id: 'uuid', with_members: 'boolean' }, row: shownGroup },
  `select ${columns} from directory_group r where r.account_id = $account_id and r.group_id = $group_id`,
);

export async function requireGroup(
  tx: Transaction,
  scope: Scope,
  id: string,
  withMembers: boolean,
): Promise<GroupRow> {
  const found = await tx.query(selectOne, {
    account_id: scope.accountId,
    group_id: toUuid(id),
    with_members: withMembers,
  });
  return requireRow(found, () => problem('group-not-found', { id }));
}
