/** Requests to a running agent: a pause in the table `agent`, a restart in `agent_instance`. */
import { instanceAbilities } from '@headgate/contract';
import { statement, type Transaction } from '../../kernel/database/database.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { connectedSeconds } from './agent.ts';

const setPause = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid', paused: 'boolean', paused_until: 'timestamptz?' } },
  'update agent set paused = $paused, paused_until = $paused_until where account_id = $account_id and agent_id = $agent_id',
);

export function writePause(
  tx: Transaction,
  scope: Scope,
  agentId: string,
  pause: { paused: boolean; until: Date | null },
): void {
  tx.send(setPause, {
    account_id: scope.accountId,
    agent_id: agentId,
    paused: pause.paused,
    paused_until: pause.until,
  });
}

const [restart] = instanceAbilities;

const updateRestart = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid', now: 'timestamptz' }, row: { instance_id: 'uuid' } },
  `
  update agent_instance set restart_requested = true
  where account_id = $account_id and agent_id = $agent_id and '${restart}' = any (abilities) and not stopping
    and last_seen_at > $now::timestamptz - interval '${connectedSeconds} seconds'
  returning instance_id`,
);

/** Returns how many instances will get the request. */
export async function requestRestart(
  tx: Transaction,
  scope: Scope,
  agentId: string,
  now: Date,
): Promise<number> {
  return (await tx.query(updateRestart, { account_id: scope.accountId, agent_id: agentId, now })).length;
}
