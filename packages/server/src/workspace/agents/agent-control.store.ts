/** What is asked of a running agent: a pause in the table `agent`, a restart in `agent_instance`. */
import { instanceAbilities } from '@headgate/contract';
import { statement, type Transaction } from '../../kernel/database/database.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { connectedSeconds } from './agent.ts';

const setPause = statement(
  'update agent set paused = $3, paused_until = $4 where account_id = $1 and agent_id = $2',
);

export function writePause(
  tx: Transaction,
  scope: Scope,
  agentId: string,
  pause: { paused: boolean; until: Date | null },
): void {
  tx.send(setPause, [scope.accountId, agentId, pause.paused, pause.until]);
}

const [restart] = instanceAbilities;

const requestRestart = statement<{ instance_id: string }>(`
  update agent_instance set restart_requested = true
  where account_id = $1 and agent_id = $2 and '${restart}' = any (abilities) and not stopping
    and last_seen_at > $3::timestamptz - interval '${connectedSeconds} seconds'
  returning instance_id`);

/** Answers how many instances are to be told. */
export async function askForRestart(
  tx: Transaction,
  scope: Scope,
  agentId: string,
  now: Date,
): Promise<number> {
  return (await tx.query(requestRestart, [scope.accountId, agentId, now])).length;
}
