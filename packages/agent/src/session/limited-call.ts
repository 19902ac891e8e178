/** Calls with a time limit. */
import { followSignals } from '../followed-signals.ts';
import type { Time } from '../time.ts';

/**
 * Gives the call a signal that is aborted by any of the signals, or after the given time.
 *
 * `AbortSignal.any` and `AbortSignal.timeout` would keep the request and its response until the time is over:
 * at hundreds of calls a second, these are hundreds of megabytes.
 */
export async function callWithin<T>(
  { sleep }: Pick<Time, 'sleep'>,
  milliseconds: number,
  signals: readonly AbortSignal[],
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { controller: bounded, release } = followSignals(signals);
  const over = new AbortController();
  void sleep(milliseconds, over.signal).then(() => {
    if (!over.signal.aborted)
      bounded.abort(new DOMException(`no answer after ${Math.round(milliseconds)} ms`, 'TimeoutError'));
  });
  try {
    return await call(bounded.signal);
  } finally {
    release();
    over.abort(endOfCall);
  }
}

/** A reason that is made once: making an error for each call takes time. */
const endOfCall = new Error('the call has ended');
