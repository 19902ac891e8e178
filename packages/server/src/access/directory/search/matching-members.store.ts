/** Members of a group that match a filter, for `members[…]` in the path of a PATCH. */
import { passingStatement, type Transaction } from '../../../kernel/database/database.ts';
import type { Scope } from '../../../kernel/security/permissions.ts';
import { groupSchema } from '../schema/group-schema.ts';
import { findAttribute } from '../schema/scim-attribute.ts';
import type { Filter } from '../schema/scim-filter.ts';
import { memberSql } from './resource-sql.ts';
import { SqlParameters, translateFilter } from './scim-filter-sql.ts';

/** The ids of members that match a filter such as `display co "a"`. */
export async function findMatchingMembers(
  tx: Transaction,
  scope: Scope,
  groupId: string,
  filter: Filter,
): Promise<string[]> {
  const parameters = new SqlParameters();
  const members = findAttribute(groupSchema.attributes, 'members');
  const resource = {
    schema: { ...groupSchema, attributes: members?.subAttributes ?? [] },
    find: ({ attribute }: { attribute: { name: string } }) => {
      const values = memberSql(attribute.name);
      return values.kind === 'values' ? values.sub(attribute.name) : undefined;
    },
  };
  const condition = translateFilter(resource, filter, parameters);
  const query = passingStatement(
    { parameters: { account_id: 'uuid', group_id: 'uuid', ...parameters.types }, row: { user_id: 'uuid' } },
    `
    select m.user_id from directory_member m
    join directory_user u on u.account_id = m.account_id and u.user_id = m.user_id
    where m.account_id = $account_id and m.group_id = $group_id and ${condition}`,
  );
  const found = await tx.query(query, {
    account_id: scope.accountId,
    group_id: groupId,
    ...parameters.values,
  } as never);
  return found.map(({ user_id }) => user_id);
}
