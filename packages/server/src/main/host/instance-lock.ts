import { join } from 'node:path';
import { type Holder, lockWithin } from '../../../../../scripts/process-lock.mjs';
import { StartError } from './startup-checks.ts';

/** How long a start waits for an instance that is stopping. */
const STOPPING_MS = 20_000;
/**
 * An instance whose parent was killed with `kill -9` notices within this time, and then marks itself as
 * stopping.
 */
const NOTICING_MS = 1500;

export interface InstanceLock {
  /** Records the address of this server for the error of a second start. */
  announce(address: string): void;
  /** Makes a second start wait. */
  stopping(): void;
  release(): void;
}

/**
 * Makes this process the only server on the data directory (absolute path).
 * @throws if another process holds the lock; the error names it
 */
export async function takeInstanceLock(dataDirectory: string, signal?: AbortSignal): Promise<InstanceLock> {
  const { lock, holder } = await lockWithin(join(dataDirectory, 'instance.lock'), {
    timeoutMs: STOPPING_MS,
    onHeld: (held, waitedMs) => held.state === 'stopping' || waitedMs < NOTICING_MS,
    ...(signal ? { signal } : {}),
  });
  if (!lock) throw new StartError(describeHolder(dataDirectory, holder));
  return {
    announce: (address) => lock.update({ address }),
    stopping: () => lock.update({ state: 'stopping' }),
    release: () => lock.release(),
  };
}

function describeHolder(dataDirectory: string, holder: Holder): string {
  const where = holder.address === undefined ? '' : `, at ${holder.address}`;
  const who = `process ${holder.pid}, since ${holder.since}${where}`;
  return holder.state === 'stopping'
    ? `Headgate on ${dataDirectory} (${who}) has been stopping for more than ${STOPPING_MS / 1000} s. End process ${holder.pid}, then start again.`
    : `Headgate already runs on ${dataDirectory}: ${who}. Stop it first, or set HEADGATE_DATA_DIR to another folder.`;
}
