/** A token that was rotated exists only in the memory of this server until it is stored. */
import { setTimeout as delay } from 'node:timers/promises';
import { isUnavailable } from '../../../kernel/database/database.ts';

const pauseMilliseconds = 500;

/** Repeats a write that fails because the database cannot be used, until it succeeds or `signal` ends the wait. */
export async function writePatiently<Result>(
  write: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  for (;;) {
    try {
      return await write();
    } catch (failure) {
      if (!isUnavailable(failure) || signal.aborted) throw failure;
      await delay(pauseMilliseconds, undefined, { signal }).catch(() => undefined);
    }
  }
}
