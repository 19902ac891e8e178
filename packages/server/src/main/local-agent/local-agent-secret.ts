/** Hands the local agent its secret anew when it was refreshed, by whichever server. */
import type { Database } from '../../kernel/database/database.ts';
import { createWait, type Wakes } from '../../kernel/database/wakes.ts';
import type { FailureLog } from '../../kernel/failure-log.ts';
import type { Log } from '../../kernel/log.ts';
import type { Sealer, Secret } from '../../kernel/security/sealed.ts';
import { findCurrentSecret, renderSecretWakeKey } from '../../workspace/agents/index.ts';

/** A wake-up may be lost: whoever waits looks again by himself. */
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

/** Runs until the server stops. `generation` is that of the secret that the agent was started with. */
export async function followSecret(
  services: SecretServices,
  agent: { accountId: string; agentId: string; generation: number },
  give: (secret: Secret) => void,
): Promise<void> {
  const { database, sealer, wakes, log, failures, stopping } = services;
  const { accountId, agentId } = agent;
  let { generation } = agent;
  while (!stopping.aborted) {
    // Waiting begins before looking: what is refreshed meanwhile wakes us.
    const wait = createWait(wakes, renderSecretWakeKey(agentId));
    try {
      const current = await findCurrentSecret(database.read, sealer, accountId, agentId);
      failures.recordSuccess(job);
      if (current !== undefined && current.generation !== generation) {
        give(current.secret);
        generation = current.generation;
        log.info({ agentId }, 'the local agent has been given its new secret');
      }
    } catch (failure) {
      if (!stopping.aborted)
        failures.recordFailure(job, failure, 'the secret of the local agent could not be read');
    }
    await wait.waitAtMost(lookAgainMilliseconds, stopping);
    wait.end();
  }
}
