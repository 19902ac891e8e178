/** Calls to a server that may be away: which are tried again, and which are not worth it. */
import type { GoodbyeRequest } from '@headgate/contract';
import { createBackoff } from '../backoff.ts';
import { getReason, type Log } from '../log.ts';
import type { Time } from '../time.ts';
import { type ControlPlane, isTransient } from './control-plane.ts';

interface Surroundings {
  log: Log;
  time: Time;
}

/** Tries again for as long as it takes: the server's absence is no reason to end. */
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
      if (isTransient(error)) log.warn('the server does not answer; tried again', fields);
      else log.error('the server refuses this agent; tried again', fields);
      await time.sleep(waitMilliseconds, signal);
    }
  }
}

/** A server that does not answer must not hold the end up. */
const goodbyeMilliseconds = 2_000;

/** Once: the server finds out by itself, too. That it is not there, or is older than this message, is no matter. */
export async function sayGoodbye(
  controlPlane: ControlPlane,
  goodbye: GoodbyeRequest,
  { log, time }: Surroundings,
): Promise<void> {
  try {
    await controlPlane.goodbye(goodbye, time.timeout(goodbyeMilliseconds));
  } catch (error) {
    log.info('the goodbye was not heard', { stage: goodbye.stage, reason: getReason(error) });
  }
}
