/**
 * Tells an instance where a secret of its run is stored: only for the instance that holds the run, and only
 * for the run's project.
 */
import {
  agentSecretReference,
  type SecretCoordinates,
  type SecretProvider,
  type SecretReference,
  type SecretsLocation,
} from '@headgate/contract';
import { type ColumnTypes, type RowOf, statement, typed } from '../../kernel/database/database.ts';
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

const cloudRow = {
  /** Null if there is no such connection, or it names no secret. */
  secretName: 'text?',
  location: typed<SecretsLocation | null>('jsonb'),
  is_granted: 'boolean',
} satisfies ColumnTypes;

/**
 * One row for each connection to a cloud, at most two, if this instance holds the work with this epoch; one row
 * without a name if there is none.
 */
const ofCloud = statement(
  {
    parameters: {
      account_id: 'uuid',
      agent_id: 'uuid',
      work_id: 'uuid',
      epoch: 'integer',
      instance_id: 'uuid',
      cloud: 'text',
    },
    row: cloudRow,
  },
  `
  select c.secret_name as "secretName", c.location,
    may_use_vault_name(w.account_id, w.project_id, w.agent_id, c.secret_name) as is_granted
  from work w
  left join lateral (
    select n.details -> 'connectionProperties' ->> 'credentialSecretName' as secret_name, n.details -> 'secretsLocation' as location
    from connection n
    where n.account_id = w.account_id and n.project_id = w.project_id
      and n.platform_connection_type = 'CLOUD_PLATFORM_CREDENTIALS' and n.auth_provider = $cloud
    order by n.name limit 2) c on true
  where w.account_id = $account_id and w.agent_id = $agent_id and w.work_id = $work_id and w.epoch = $epoch
    and w.instance_id = $instance_id
    and w.state in ('held', 'silent')`,
);

export function secretLookupRoutes({ app }: Endpoints, services: Services & { wakes: Wakes }): void {
  const serve = createAgentEndpoints(app, services);
  serve(agentSecretReference, async ({ agent, body }) => {
    const { workId, epoch, instanceId, name, cloud } = body;
    const held = {
      account_id: agent.accountId,
      agent_id: agent.agentId,
      work_id: workId,
      epoch,
      instance_id: instanceId,
    };
    if (cloud !== undefined) {
      const rows = await services.database.read(ofCloud, { ...held, cloud });
      if (rows.length === 0) throw problem('work-not-held', { id: workId, epoch });
      return findCloudSecret(cloud, rows);
    }
    const [row] = await services.database.read(ofHeldWork, { ...held, name });
    if (row === undefined) throw problem('work-not-held', { id: workId, epoch });
    const { secretName, agent_id: agentId, agent_name: agentName, is_granted: isGranted } = row;
    if (secretName === null) throw problem('secret-reference-not-found', { name });
    if (agentId !== null && agentId !== agent.agentId)
      throw problem('secret-reference-of-another-agent', { name, agent: agentName ?? agentId });
    if (!isGranted) throw problem('vault-name-not-granted-to-run', { name, secretName });
    return buildCoordinates({ ...row, secretName });
  });
}

function findCloudSecret(cloud: string, rows: readonly RowOf<typeof cloudRow>[]): SecretCoordinates {
  const [{ secretName, location, is_granted: isGranted } = noConnection, other] = rows;
  if (other !== undefined) throw problem('several-cloud-connections', { cloud });
  if (secretName === null) throw problem('cloud-connection-not-found', { cloud });
  if (!isGranted) throw problem('vault-name-not-granted-to-run', { name: cloud, secretName });
  const vaultName = location !== null && 'vaultName' in location ? (location.vaultName ?? null) : null;
  const vaultType = location?.type ?? null;
  return buildCoordinates({ secretName, secretKey: null, vaultName, vaultType, provider: null });
}

const noConnection = { secretName: null, location: null, is_granted: false };
