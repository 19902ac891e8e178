import { join } from 'node:path';
import { type Holder, lockWithin } from '../../../../../scripts/process-lock.mjs';
import { StartError } from './startup-checks.ts';

/** An instance that says it is stopping is waited for this long. */
const STOPPING_MS = 20_000;
/**
 * One that was left behind by `kill -9` of what started it notices within this time, and then says that it is
 * stopping.
 */
const NOTICING_MS = 1500;

export interface InstanceLock {
  /** Tells a second start where this one answers. */
  announce(address: string): void;
  /** Tells a second start to wait. */
  stopping(): void;
  release(): void;
}

/**
 * Makes this process the only server on the data directory (absolute).
 * @throws when another one runs on it, naming it
 */
export async function takeInstanceLock(dataDirectory: string, signal?: AbortSignal): Promise<InstanceLock> {
  const { lock, holder } = await lockWithin(join(dataDirectory, 'instance.lock'), {
    timeoutMs: STOPPING_MS,
    onHeld: (held, waitedMs) => held.state === 'stopping' || waitedMs < NOTICING_MS,
    ...(signal ? { signal } : {}),
  });
  if (!lock) throw new StartError(heldBy(dataDirectory, holder));
  return {
    announce: (address) => lock.update({ address }),
    stopping: () => lock.update({ state: 'stopping' }),
    release: () => lock.release(),
  };
}

function heldBy(dataDirectory: string, holder: Holder): string {
  const where = holder.address === undefined ? '' : `, at ${holder.address}`;
  const who = `process ${holder.pid}, since ${holder.since}${where}`;
  return holder.state === 'stopping'
    ? `Headgate on ${dataDirectory} (${who}) has been stopping for more than ${STOPPING_MS / 1000} s. End process ${holder.pid}, then start again.`
    : `Headgate already runs on ${dataDirectory}: ${who}. Stop it first, or set HEADGATE_DATA_DIR to another folder.`;
}
