/**
 * The secrets in the table `agent`: a keyed hash for comparison, and the sealed secret, which
 * administrators can read.
 */
import { clientSecretPurpose } from '../../access/credentials/index.ts';
import {
  type ColumnTypes,
  type Read,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
} from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import type { Sealer, Secret } from '../../kernel/security/sealed.ts';

export const getSecretPurpose = (agentId: string) => `secret of the agent ${agentId}`;

/** The two stored forms of a secret. */
export function sealForStorage(sealer: Sealer, agentId: string, secret: Secret) {
  return {
    secret_digest: sealer.digest(secret.reveal(), clientSecretPurpose),
    secret_sealed: sealer.seal(secret, getSecretPurpose(agentId)),
  };
}

const clientRow = {
  agent_id: 'uuid',
  name: 'text',
  client_id: 'text',
  secret_sealed: 'bytea?',
} satisfies ColumnTypes;
type ClientRow = RowOf<typeof clientRow>;

const selectClient = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid' }, row: clientRow },
  `
  select agent_id, name, client_id, secret_sealed from agent where account_id = $account_id
    and agent_id = $agent_id for update`,
);

/** Throws `agent-not-found`. */
export async function lockClient(tx: Transaction, scope: Scope, id: string): Promise<ClientRow> {
  const found = await tx.query(selectClient, { account_id: scope.accountId, agent_id: toUuid(id) });
  return requireRow(found, () => problem('agent-not-found', { id }));
}

/** Throws `agent-secret-not-kept`. */
export function openSecret(sealer: Sealer, { agent_id, name, secret_sealed }: ClientRow): Secret {
  if (secret_sealed === null) throw problem('agent-secret-not-kept', { name });
  return sealer.unseal(secret_sealed, getSecretPurpose(agent_id));
}

const replaceSecret = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid', secret_digest: 'bytea', secret_sealed: 'bytea' } },
  `
  update agent set secret_digest = $secret_digest, secret_sealed = $secret_sealed, secret_generation = secret_generation + 1
  where account_id = $account_id and agent_id = $agent_id`,
);

/** Invalidates the previous secret and its tokens. */
export function refreshSecret(
  tx: Transaction,
  sealer: Sealer,
  scope: Pick<Scope, 'accountId'>,
  agentId: string,
  secret: Secret,
): void {
  tx.send(replaceSecret, {
    account_id: scope.accountId,
    agent_id: agentId,
    ...sealForStorage(sealer, agentId, secret),
  });
}

const selectCertificates = statement(
  {
    parameters: { account_id: 'uuid', agent_id: 'uuid', now: 'timestamptz' },
    row: { key_id: 'text', instance_id: 'uuid' },
  },
  `
  select c.key_id, c.instance_id from agent a
  join agent_certificate c on c.account_id = a.account_id and c.agent_id = a.agent_id and c.secret_generation = a.secret_generation
  where a.account_id = $account_id and a.agent_id = $agent_id and c.not_after > $now
  order by c.key_id
  limit 100`,
);
// No agent can claim it any more. The next sweep ends it and wakes the waiting request.
const endSealedWork = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid', now: 'timestamptz' } },
  `
  update work set claimable_until = $now::timestamptz, due_at = least(due_at, $now::timestamptz)
  where account_id = $account_id and agent_id = $agent_id and (state = 'queued' or state in ('held', 'silent'))
    and key_id is not null and claimable_until > $now`,
);

/**
 * Call it before replacing the secret. Returns the revoked certificates for the events. Secrets sealed to
 * them can no longer be used.
 */
export async function revokeCertificates(
  tx: Transaction,
  scope: Pick<Scope, 'accountId'>,
  agentId: string,
  now: Date,
): Promise<{ keyId: string; instanceId: string }[]> {
  tx.send(endSealedWork, { account_id: scope.accountId, agent_id: agentId, now });
  const rows = await tx.query(selectCertificates, { account_id: scope.accountId, agent_id: agentId, now });
  return rows.map(({ key_id: keyId, instance_id: instanceId }) => ({ keyId, instanceId }));
}

const ofSecret = ':secret';

/** The wake key for a refreshed secret or a deleted agent. */
export const renderSecretWakeKey = (agentId: string) => `${agentId}${ofSecret}`;

/** The agent id in a wake key; undefined for other wake keys. */
export function parseSecretWakeKey(key: string): string | undefined {
  return key.endsWith(ofSecret) ? key.slice(0, -ofSecret.length) : undefined;
}

const keptSecretRow = {
  agent_id: 'uuid',
  client_id: 'text',
  secret_sealed: 'bytea?',
  secret_generation: 'integer',
} satisfies ColumnTypes;

const selectSecret = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid' }, row: keptSecretRow },
  `
  select agent_id, client_id, secret_sealed, secret_generation from agent where account_id = $account_id
    and agent_id = $agent_id`,
);

/**
 * An agent's secret with its generation, for the program that runs the agent. Undefined if the agent was
 * deleted or its secret is not kept.
 */
export async function findCurrentSecret(
  read: Read,
  sealer: Sealer,
  accountId: string,
  agentId: string,
): Promise<{ secret: Secret; generation: number } | undefined> {
  const [row] = await read(selectSecret, { account_id: accountId, agent_id: agentId });
  if (row === undefined || row.secret_sealed === null) return undefined;
  return {
    secret: sealer.unseal(row.secret_sealed, getSecretPurpose(agentId)),
    generation: row.secret_generation,
  };
}
