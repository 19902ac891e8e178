/** The table `agent_allowed_place`: where a restricted agent may be used. */
import type { AgentAllowlist } from '@headgate/contract';
import { type ColumnTypes, statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { isUuid } from '../../kernel/identifiers.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

const allowedProjectRow = {
  project_id: 'uuid',
  /** Null means every environment. */
  environments: 'text[]?',
} satisfies ColumnTypes;

const selectAll = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid' }, row: allowedProjectRow },
  `
  select project_id, case when bool_and(environment_name is not null) then array_agg(environment_name order by environment_name) end as environments
  from agent_allowed_place where account_id = $account_id and agent_id = $agent_id group by project_id order by project_id`,
);

export async function readAllowlist(tx: Transaction, scope: Scope, agentId: string): Promise<AgentAllowlist> {
  const rows = await tx.query(selectAll, { account_id: scope.accountId, agent_id: agentId });
  const entries = rows.map(
    ({ project_id, environments }) => [project_id, environments === null ? {} : { environments }] as const,
  );
  return { projects: Object.fromEntries(entries) };
}

const removeAll = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid' } },
  'delete from agent_allowed_place where account_id = $account_id and agent_id = $agent_id',
);
const insertPlaces = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid', places: 'jsonb' } },
  `
  insert into agent_allowed_place (account_id, agent_id, project_id, environment_name)
  select distinct $account_id::uuid, $agent_id::uuid, p."projectId", p."environmentName"
  from jsonb_to_recordset($places) as p ("projectId" uuid, "environmentName" text)`,
);

// Makes the sweep check the agent's queued work again.
const noteChange = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid' } },
  'update agent set places_changed = true where account_id = $account_id and agent_id = $agent_id',
);

const lastOfKey = /, ([^,]*)\) is not present/;

/** Throws `unknown-project`, and at commit also `unknown-environment`. */
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
  tx.send(removeAll, { account_id: scope.accountId, agent_id: agentId });
  tx.send(noteChange, { account_id: scope.accountId, agent_id: agentId });
  tx.send(insertPlaces, { account_id: scope.accountId, agent_id: agentId, places: JSON.stringify(places) });
}
