/**
 * Where a secret is kept that a run names: for the instance that holds the run, and of the run's own project
 * only.
 */
import { agentSecretReference, type SecretProvider, type SecretReference } from '@headgate/contract';
import { statement } from '../../kernel/database/database.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Endpoints, Services } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { coordinatesOf } from '../../workspace/secret-references/index.ts';
import { createAgentEndpoints } from '../agent-link/index.ts';

interface FoundRow {
  /** Null when the project has no reference of the name. */
  secretName: string | null;
  secretKey: string | null;
  vaultName: string | null;
  vaultType: NonNullable<SecretReference['vaultType']> | null;
  provider: SecretProvider | null;
  /** Of the agent that the reference is for. */
  agent_id: string | null;
  agent_name: string | null;
}

/** One row when the work is held so. Parameters: account, agent, work, epoch, instance, name. */
const ofHeldWork = statement<FoundRow>(`
  select r.secret_name as "secretName", r.secret_key as "secretKey", r.vault_name as "vaultName", r.vault_type as "vaultType", r.provider,
    r.agent_id, a.name as agent_name
  from work w
  left join secret_reference r on r.account_id = w.account_id and r.project_id = w.project_id and r.name = $6
  left join agent a on a.account_id = r.account_id and a.agent_id = r.agent_id
  where w.account_id = $1 and w.agent_id = $2 and w.work_id = $3 and w.epoch = $4 and w.instance_id = $5
    and w.state in ('held', 'silent')`);

export function secretLookupRoutes({ app }: Endpoints, services: Services & { wakes: Wakes }): void {
  const serve = createAgentEndpoints(app, services);
  serve(agentSecretReference, async ({ agent, body }) => {
    const { workId, epoch, instanceId, name } = body;
    const asked = [agent.accountId, agent.agentId, workId, epoch, instanceId, name];
    const [row] = await services.database.read(ofHeldWork, asked);
    if (row === undefined) throw problem('work-not-held', { id: workId, epoch });
    const { secretName, agent_id: agentId, agent_name: agentName } = row;
    if (secretName === null) throw problem('secret-reference-not-found', { name });
    if (agentId !== null && agentId !== agent.agentId)
      throw problem('secret-reference-of-another-agent', { name, agent: agentName ?? agentId });
    return coordinatesOf({ ...row, secretName });
  });
}
