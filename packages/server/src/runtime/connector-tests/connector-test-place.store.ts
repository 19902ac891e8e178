/** Reads what a test needs: the profile, the environment with its agent, and what the connection names. */
import { type ConnectorOauthState, permissions, testFlexConnector } from '@headgate/contract';
import { type ColumnTypes, type RowOf, typed } from '../../kernel/database/database.ts';
import { guardedRead, inEffect } from '../../kernel/security/guarded-read.ts';
import { allowedInEnvironment, answeringColumns, answeringOf } from '../../workspace/agents/index.ts';

/** The roles that may read profiles. */
const readers = permissions[testFlexConnector.alsoRequires].account.map((role) => `'${role}'`).join(', ');

export const testedProfile = guardedRead(
  {
    parameters: { kind: 'text', profile_id: 'uuid' },
    row: { may_read: 'boolean', name: 'text?', profile: 'text?' },
  },
  `
  select exists (
      select from account_role r
      where r.account_id = $account_id and r.principal_id = $principal_id and r.role in (${readers})
        and ${inEffect('r')}) as may_read,
    p.name, p.profile
  from (select) one
  left join connector_profile p on p.account_id = $account_id and p.kind = $kind and p.profile_id = $profile_id
    and p.deleted_at is null`,
);

const placeRow = {
  /** Null if the project has no such environment. */
  environment_name: 'text?',
  /** The one that is asked, the environment's default agent, or the account's only agent. */
  agent_id: 'uuid?',
  agent_name: 'text?',
  ...answeringColumns,
  allowed: 'boolean',
} satisfies ColumnTypes;
export type TestPlaceRow = RowOf<typeof placeRow>;

export const testPlace = guardedRead(
  { parameters: { environment_name: 'text', agent_id: 'uuid?' }, row: placeRow },
  `
  select e.name as environment_name, a.agent_id, a.name as agent_name, ${answeringOf('connector-test')},
    ${allowedInEnvironment} as allowed
  from (select) one
  left join environment e on e.account_id = $account_id and e.project_id = $project_id and e.name = $environment_name
  left join agent a on a.account_id = $account_id and a.agent_id = coalesce($agent_id::uuid, e.default_agent_id,
    (select min(agent_id::text)::uuid from agent where account_id = $account_id having count(*) = 1))`,
);

/** What the connection names: those secret references that exist, and the OAuth configuration. */
export const namedByConnection = guardedRead(
  {
    parameters: { secret_names: 'text[]', oauth_name: 'text?' },
    row: { secret_names: 'text[]', oauth_state: typed<ConnectorOauthState | null>('text') },
  },
  `
  select array(
      select name from secret_reference
      where account_id = $account_id and project_id = $project_id and name = any ($secret_names::text[])
      order by name) as secret_names,
    (select state from connector_oauth
      where account_id = $account_id and project_id = $project_id and name = $oauth_name) as oauth_state`,
);
