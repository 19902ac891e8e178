/** Which agent is asked. */
import type { ColumnTypes, RowOf } from '../../kernel/database/database.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import { allowedInEnvironment, answeringColumns, answeringOf } from '../../workspace/agents/index.ts';

const placeRow = {
  agent_id: 'uuid?',
  agent_name: 'text?',
  ...answeringColumns,
  allowed: 'boolean',
} satisfies ColumnTypes;
export type QueriedPlaceRow = RowOf<typeof placeRow>;

/** The named agent, or that of the environment: its default agent, or else the account's only one. */
const placeFor = (kind: string) =>
  guardedRead(
    { parameters: { environment_name: 'text', agent_id: 'uuid?' }, row: placeRow },
    `
  select a.agent_id, a.name as agent_name, ${answeringOf(kind)},
    ${allowedInEnvironment} as allowed
  from environment e
  left join agent a on a.account_id = e.account_id and a.agent_id = coalesce($agent_id::uuid, e.default_agent_id, (
    select min(agent_id::text)::uuid from agent where account_id = $account_id having count(*) = 1))
  where e.account_id = $account_id and e.project_id = $project_id and e.name = $environment_name`,
  );
export const queriedPlace = placeFor('warehouse-query');
export const tablesPlace = placeFor('table-read');
