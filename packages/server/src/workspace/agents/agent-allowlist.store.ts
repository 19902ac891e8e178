/** The table `agent_allowed_place`: where a restricted agent may be used. */
import type { AgentAllowlist } from '@headgate/contract';
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { isUuid } from '../../kernel/identifiers.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

interface AllowedProjectRow {
  project_id: string;
  /** Null: every one. */
  environments: string[] | null;
}

const selectAll = statement<AllowedProjectRow>(`
  select project_id, case when bool_and(environment_name is not null) then array_agg(environment_name order by environment_name) end as environments
  from agent_allowed_place where account_id = $1 and agent_id = $2 group by project_id order by project_id`);

export async function allowlistOf(tx: Transaction, scope: Scope, agentId: string): Promise<AgentAllowlist> {
  const rows = await tx.query(selectAll, [scope.accountId, agentId]);
  const entries = rows.map(
    ({ project_id, environments }) => [project_id, environments === null ? {} : { environments }] as const,
  );
  return { projects: Object.fromEntries(entries) };
}

const removeAll = statement('delete from agent_allowed_place where account_id = $1 and agent_id = $2');
const insertPlaces = statement(`
  insert into agent_allowed_place (account_id, agent_id, project_id, environment_name)
  select distinct $1::uuid, $2::uuid, p."projectId", p."environmentName"
  from jsonb_to_recordset($3) as p ("projectId" uuid, "environmentName" text)`);

// Its queued work is checked anew.
const noteChange = statement(
  'update agent set places_changed = true where account_id = $1 and agent_id = $2',
);

const lastOfKey = /, ([^,]*)\) is not present/;

/** Throws `unknown-project`, and with the commit also `unknown-environment`. */
export function writeAllowlist(
  tx: Transaction,
  scope: Scope,
  agentId: string,
  { projects }: AgentAllowlist,
): void {
  const unknown = Object.keys(projects).find((id) => !isUuid(id));
  if (unknown !== undefined) throw problem('unknown-project', { id: unknown });
  const places = Object.entries(projects).flatMap(([projectId, { environments }]) =>
    (environments ?? [null]).map((environmentName) => ({ projectId, environmentName })),
  );
  tx.onConstraint('agent_allowed_place_in_project', ({ detail }) =>
    problem('unknown-project', { id: lastOfKey.exec(detail ?? '')?.[1] ?? '' }),
  );
  tx.onConstraint('agent_allowed_place_in_environment', ({ detail }) =>
    problem('unknown-environment', { name: lastOfKey.exec(detail ?? '')?.[1] ?? '' }),
  );
  tx.send(removeAll, [scope.accountId, agentId]);
  tx.send(noteChange, [scope.accountId, agentId]);
  tx.send(insertPlaces, [scope.accountId, agentId, JSON.stringify(places)]);
}
