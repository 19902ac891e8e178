/** Calls to a server that may be unavailable. */
import type { GoodbyeRequest } from '@headgate/contract';
import { createBackoff } from '../backoff.ts';
import { getReason, type Log } from '../log.ts';
import type { Time } from '../time.ts';
import { type ControlPlane, isTransient } from './control-plane.ts';

interface Surroundings {
  log: Log;
  time: Time;
}

/** Retries until success or abort: the agent does not end because the server is unavailable. */
export async function retryUntilSuccess(
  call: string,
  { log, time }: Surroundings,
  signal: AbortSignal,
  attempt: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const backoff = createBackoff({ random: time.random });
  while (!signal.aborted) {
    try {
      return await attempt(signal);
    } catch (error) {
      if (signal.aborted) return;
      const waitMilliseconds = Math.round(backoff.next());
      const fields = { call, reason: getReason(error), waitMilliseconds };
      if (isTransient(error)) log.warn('no answer from the server; retrying', fields);
      else log.error('the server refuses this agent; retrying', fields);
      await time.sleep(waitMilliseconds, signal);
    }
  }
}

/** A server that does not answer must not delay the shutdown. */
const goodbyeMilliseconds = 2_000;

/** Sends one goodbye without a retry: it is optional, and an older server does not know it. */
export async function sayGoodbye(
  controlPlane: ControlPlane,
  goodbye: GoodbyeRequest,
  { log, time }: Surroundings,
): Promise<void> {
  try {
    await controlPlane.goodbye(goodbye, time.timeout(goodbyeMilliseconds));
  } catch (error) {
    log.info('goodbye not delivered', { stage: goodbye.stage, reason: getReason(error) });
  }
}
