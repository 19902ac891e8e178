/** Which connection is tested, with which values, and which agent is asked. */
import type { ConnectionPropertyMap } from '@headgate/contract';
import { type ColumnTypes, type RowOf, typed } from '../../kernel/database/database.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import { allowedInEnvironment, answeringColumns, answeringOf } from '../../workspace/agents/index.ts';

const testedRow = {
  name: 'text',
  auth_provider: 'text',
  properties: typed<ConnectionPropertyMap>('jsonb'),
  /** Null if the project has no such environment. */
  environment_name: 'text?',
  agent_id: 'uuid?',
  agent_name: 'text?',
  ...answeringColumns,
  allowed: 'boolean',
} satisfies ColumnTypes;
export type TestedConnectionRow = RowOf<typeof testedRow>;

export const testedConnection = guardedRead(
  { parameters: { name: 'text', environment_name: 'text?', agent_id: 'uuid?' }, row: testedRow },
  `
  select c.name, c.auth_provider,
    coalesce(c.details -> 'connectionProperties', '{}') || coalesce(o.properties, '{}') as properties,
    e.name as environment_name, a.agent_id, a.name as agent_name, ${answeringOf('connection-test')},
    ${allowedInEnvironment} as allowed
  from connection c
  left join environment e on e.account_id = c.account_id and e.project_id = c.project_id and e.name = $environment_name::text
  left join environment_connection_override o on o.account_id = c.account_id and o.project_id = c.project_id
    and o.environment_name = e.name and o.connection_name = c.name
  left join agent a on a.account_id = c.account_id and a.agent_id = coalesce($agent_id::uuid, e.default_agent_id,
    (select min(agent_id::text)::uuid from agent where account_id = $account_id having count(*) = 1))
  where c.account_id = $account_id and c.project_id = $project_id and c.platform_connection_type = 'DWH' and c.name = $name`,
);
