/** Gives the local agent its new secret when any server has refreshed it. */
import type { Database } from '../../kernel/database/database.ts';
import { createWait, type Wakes } from '../../kernel/database/wakes.ts';
import type { FailureLog } from '../../kernel/failure-log.ts';
import type { Log } from '../../kernel/log.ts';
import type { Sealer, Secret } from '../../kernel/security/sealed.ts';
import { findCurrentSecret, renderSecretWakeKey } from '../../workspace/agents/index.ts';

/** A wake-up may be lost, so the secret is also read at this interval. */
const lookAgainMilliseconds = 10_000;
const job = 'secret of the local agent';

interface SecretServices {
  database: Database;
  sealer: Sealer;
  wakes: Wakes;
  log: Log;
  failures: FailureLog;
  stopping: AbortSignal;
}

/** Runs until the server stops. `generation` is that of the secret which the agent was started with. */
export async function followSecret(
  services: SecretServices,
  agent: { accountId: string; agentId: string; generation: number },
  give: (secret: Secret) => void,
): Promise<void> {
  const { database, sealer, wakes, log, failures, stopping } = services;
  const { accountId, agentId } = agent;
  let { generation } = agent;
  while (!stopping.aborted) {
    // Wait before reading: a refresh in between then ends the wait.
    const wait = createWait(wakes, renderSecretWakeKey(agentId));
    try {
      const current = await findCurrentSecret(database.read, sealer, accountId, agentId);
      failures.recordSuccess(job);
      if (current !== undefined && current.generation !== generation) {
        give(current.secret);
        generation = current.generation;
        log.info({ agentId }, 'gave the local agent its new secret');
      }
    } catch (failure) {
      if (!stopping.aborted)
        failures.recordFailure(job, failure, 'failed to read the secret of the local agent');
    }
    await wait.waitAtMost(lookAgainMilliseconds, stopping);
    wait.end();
  }
}
