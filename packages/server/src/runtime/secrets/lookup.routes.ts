/**
 * Tells an instance where a secret of its run is stored: only for the instance that holds the run, and only
 * for the run's project.
 */
import { agentSecretReference, type SecretProvider, type SecretReference } from '@headgate/contract';
import { type ColumnTypes, statement, typed } from '../../kernel/database/database.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Endpoints, Services } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { buildCoordinates } from '../../workspace/secret-references/index.ts';
import { createAgentEndpoints } from '../agent-link/index.ts';

const foundRow = {
  /** Null if the project has no such reference. */
  secretName: 'text?',
  secretKey: 'text?',
  vaultName: 'text?',
  vaultType: typed<NonNullable<SecretReference['vaultType']> | null>('text'),
  provider: typed<SecretProvider | null>('text'),
  /** The agent of the reference. */
  agent_id: 'uuid?',
  agent_name: 'text?',
  is_granted: 'boolean',
} satisfies ColumnTypes;

/** One row if this instance holds the work with this epoch. */
const ofHeldWork = statement(
  {
    parameters: {
      account_id: 'uuid',
      agent_id: 'uuid',
      work_id: 'uuid',
      epoch: 'integer',
      instance_id: 'uuid',
      name: 'text',
    },
    row: foundRow,
  },
  `
  select r.secret_name as "secretName", r.secret_key as "secretKey", r.vault_name as "vaultName", r.vault_type as "vaultType", r.provider,
    r.agent_id, a.name as agent_name,
    may_use_vault_name(w.account_id, w.project_id, w.agent_id, r.secret_name) as is_granted
  from work w
  left join secret_reference r on r.account_id = w.account_id and r.project_id = w.project_id and r.name = $name
  left join agent a on a.account_id = r.account_id and a.agent_id = r.agent_id
  where w.account_id = $account_id and w.agent_id = $agent_id and w.work_id = $work_id and w.epoch = $epoch
    and w.instance_id = $instance_id
    and w.state in ('held', 'silent')`,
);

export function secretLookupRoutes({ app }: Endpoints, services: Services & { wakes: Wakes }): void {
  const serve = createAgentEndpoints(app, services);
  serve(agentSecretReference, async ({ agent, body }) => {
    const { workId, epoch, instanceId, name } = body;
    const [row] = await services.database.read(ofHeldWork, {
      account_id: agent.accountId,
      agent_id: agent.agentId,
      work_id: workId,
      epoch,
      instance_id: instanceId,
      name,
    });
    if (row === undefined) throw problem('work-not-held', { id: workId, epoch });
    const { secretName, agent_id: agentId, agent_name: agentName, is_granted: isGranted } = row;
    if (secretName === null) throw problem('secret-reference-not-found', { name });
    if (agentId !== null && agentId !== agent.agentId)
      throw problem('secret-reference-of-another-agent', { name, agent: agentName ?? agentId });
    if (!isGranted) throw problem('vault-name-not-granted-to-run', { name, secretName });
    return buildCoordinates({ ...row, secretName });
  });
}
