/** The claims of a session: calls that wait for work, as long as there are places to fill or commands to obey. */
import type { EventEmitter } from 'node:events';
import type { ClaimRequest, ClaimResponse } from '@headgate/contract';
import { claimLimit } from '@headgate/contract/without-schemas';
import type { Log } from '../log.ts';
import type { Time } from '../time.ts';
import type { ControlPlane } from './control-plane.ts';
import { callWithin } from './limited-call.ts';
import { retryUntilSuccess } from './retried-calls.ts';

/** The pause after a claim that returned at once with nothing new, such as a repeated command. */
const pauseMilliseconds = 250;

export interface ClaimOptions {
  controlPlane: Pick<ControlPlane, 'claim'>;
  instanceId: string;
  /** Places for runs. */
  concurrency: number;
  /** Places for short work. */
  shortConcurrency: number;
  log: Log;
  time: Time;
  /** Event `freed`: a work item is no longer held. */
  events: EventEmitter;
  countHeld(isShort: boolean): number;
  sayHello(): Promise<void>;
  getTimes(): { claimWaitSeconds: number; leaseMilliseconds: number };
  /** Returns whether the answer brought work or a new command. */
  onAnswer(answer: ClaimResponse): boolean;
}

/** The places that a claim may fill. */
type FreePlaces = Required<Pick<ClaimRequest, 'max' | 'maxShort'>>;

/** A reason that is made once: an error of its own for each abort would refer to all that its stack refers to. */
const placeFreed = new Error('a place is free');

/**
 * Keeps a call open for each sort of places that is free: one call for both, or one for each when one became
 * free later. A call that may bring work is never aborted, because its work would be lost until its lease ends.
 */
export async function keepClaiming(options: ClaimOptions, stopping: AbortSignal): Promise<void> {
  const { events } = options;
  const calls = new Map<Promise<void>, FreePlaces>();
  const returned = 'returned';
  while (!stopping.aborted) {
    const free = countFree(options, [...calls.values()]);
    if (calls.size === 0 || free.max + free.maxShort > 0) {
      const call = claimWithRetries(options, free, stopping).finally(() => {
        calls.delete(call);
        events.emit(returned);
      });
      calls.set(call, free);
    }
    // All calls return when the session stops.
    await waitForOne(events, ['freed', returned]);
  }
  await Promise.all(calls.keys());
}

/** The free places that no open call waits to fill. */
function countFree(options: ClaimOptions, calls: readonly FreePlaces[]): FreePlaces {
  const count = (isShort: boolean, places: number) => {
    if (calls.some(({ max, maxShort }) => (isShort ? maxShort : max) > 0)) return 0;
    return Math.min(Math.max(0, places - options.countHeld(isShort)), claimLimit);
  };
  return { max: count(false, options.concurrency), maxShort: count(true, options.shortConcurrency) };
}

async function waitForOne(events: EventEmitter, names: readonly string[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const name of names) events.once(name, resolve);
  await promise;
  for (const name of names) events.off(name, resolve);
}

async function claimWithRetries(
  options: ClaimOptions,
  free: FreePlaces,
  stopping: AbortSignal,
): Promise<void> {
  const { log, time } = options;
  let away = false;
  await retryUntilSuccess('claims', { log, time }, stopping, async () => {
    // After an outage, the server may be another one, or may have forgotten this instance.
    if (away) await options.sayHello();
    away = true;
    const sentAt = time.now();
    const news = await claimOnce(options, free, stopping);
    if (news || time.now() - sentAt > pauseMilliseconds) return;
    await time.sleep(pauseMilliseconds, stopping);
  });
}

/** One long poll. Returns whether it brought work or a new command. */
async function claimOnce(options: ClaimOptions, free: FreePlaces, stopping: AbortSignal): Promise<boolean> {
  const { controlPlane, instanceId, events, time } = options;
  const freed = new AbortController();
  const onFreed = () => freed.abort(placeFreed);
  // A call that waits only for commands ends when a place becomes free, so that it can be filled.
  if (free.max + free.maxShort === 0) events.once('freed', onFreed);
  try {
    const { claimWaitSeconds: waitSeconds, leaseMilliseconds } = options.getTimes();
    const answer = await callWithin(
      time,
      waitSeconds * 1_000 + leaseMilliseconds,
      [stopping, freed.signal],
      (bounded) => controlPlane.claim({ instanceId, ...free, waitSeconds }, bounded),
    );
    return options.onAnswer(answer);
  } catch (error) {
    if (freed.signal.aborted) return true;
    throw error;
  } finally {
    events.off('freed', onFreed);
  }
}
