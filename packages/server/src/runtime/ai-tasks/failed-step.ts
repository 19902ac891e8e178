/**
 * What follows a step that failed. A failure that passes, such as that of a database that is away, is only waited for.
 * After any other one the step is repeated with growing pauses, and the task ends when that has not helped.
 */
import { addSeconds } from '../../kernel/clock.ts';
import { isUnavailable } from '../../kernel/database/database.ts';
import { LeaseLost, releaseWork } from '../../kernel/work/server-work.ts';
import { countFailures, type HeldKey, readHeld } from './store/held-task.store.ts';
import { endWith, type RunServices, StaleStep } from './store/task-run.ts';

const mostFailures = 5;
const firstPauseSeconds = 5;
/** Before another attempt to end a task whose end could not be written. */
const longestPauseSeconds = 300;

/** Gives the task back, or ends it. Never rejects: at worst, another server takes the task after its lease. */
export async function handleFailedStep(services: RunServices, key: HeldKey, failure: unknown): Promise<void> {
  const { log, newId } = services;
  const about = { err: failure, taskId: key.task_id };
  try {
    if (isUnavailable(failure)) {
      log.warn(about, 'an AI task was interrupted; it will be taken up again');
      return await giveBack(services, key, firstPauseSeconds, 'unfinished');
    }
    const failureId = newId();
    const failures = await countFailures(services.database.read, key).catch(() => undefined);
    log.error({ ...about, failureId, attempt: failures }, 'a step of an AI task failed');
    if (failures === undefined) return;
    if (failures < mostFailures)
      return await giveBack(services, key, firstPauseSeconds * 2 ** (failures - 1));
    await endAfterFailures(services, key, failureId);
  } catch (another) {
    if (another instanceof LeaseLost) return;
    log.warn({ err: another, taskId: key.task_id }, 'an AI task could not be given back after a failed step');
  }
}

async function giveBack(
  { database, clock }: RunServices,
  key: HeldKey,
  seconds: number,
  outcome: 'failed' | 'unfinished' = 'failed',
): Promise<void> {
  const now = clock.now();
  await releaseWork(database.read, key, { outcome, dueAt: addSeconds(now, seconds), now });
}

async function endAfterFailures(services: RunServices, key: HeldKey, failureId: string): Promise<void> {
  try {
    const task = await readHeld(services.database.read, key, services.clock.now());
    const text = `A step of the task failed ${mostFailures} times, for a reason that the server did not expect. The operator finds it in the log of the server by the id ${failureId}. A message resumes the task.`;
    await endWith(services, task, 'ERRORED', { type: 'error', code: 'step-failed', text });
  } catch (failure) {
    if (failure instanceof LeaseLost) return;
    // A message has come meanwhile, which may change what the step does.
    if (failure instanceof StaleStep) return await giveBack(services, key, firstPauseSeconds);
    services.log.error({ err: failure, taskId: key.task_id, failureId }, 'an AI task could not be ended');
    await giveBack(services, key, longestPauseSeconds);
  }
}
