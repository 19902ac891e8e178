/** Which events of the log a principal may read at this moment. */

import { type Read, statement, typed } from '../../../kernel/database/database.ts';
import { inEffect } from '../../../kernel/security/guarded-read.ts';
import { findRequiredRoles, type Standing } from '../../../kernel/security/permissions.ts';

/** All events of the account, or those of some projects. */
export type EventReach = { all: true } | { projects: readonly string[] };

/** A credential or a user, and the personal credential or the session of a user's request. */
export interface EventReader {
  principalId: string;
  userAccessId?: string | null | undefined;
}

const roles = findRequiredRoles('events:read');

// Every role in a project has `project:read`, also a custom one.
const selectReaches = statement(
  {
    parameters: {
      account_id: 'uuid',
      principal_ids: 'uuid[]',
      user_access_ids: typed<readonly (string | null)[]>('uuid[]'),
      now: 'timestamptz',
    },
    row: { standing: typed<Standing>('text'), projects: typed<string[]>('uuid[]') },
  },
  `
  select guard.standing, case when guard.standing = 'forbidden' then array(
    select distinct g.project_id from granted_role g
    where g.account_id = $account_id and g.principal_id = reader.principal_id and g.environment_name is null
      and ${inEffect('g')} order by 1) else '{}' end as projects
  from unnest($principal_ids::uuid[], $user_access_ids::uuid[]) with ordinality as reader (principal_id, user_credential_id, place)
  cross join lateral rights($account_id, reader.principal_id, null, null, '${roles.account}'::text[], '{}', '{}',
    $now, reader.user_credential_id) guard
  order by reader.place`,
);

/** The reach of each reader, in their order; undefined for one that is no longer active. */
export async function readEventReaches(
  read: Read,
  accountId: string,
  readers: readonly EventReader[],
  now: Date,
): Promise<(EventReach | undefined)[]> {
  const rows = await read(selectReaches, {
    account_id: accountId,
    principal_ids: readers.map(({ principalId }) => principalId),
    user_access_ids: readers.map(({ userAccessId }) => userAccessId ?? null),
    now,
  });
  return rows.map(({ standing, projects }) => {
    if (standing === 'inactive') return undefined;
    return standing === 'permitted' ? { all: true } : { projects };
  });
}
