import ipaddr from 'ipaddr.js';
import type { Clock } from '../../kernel/clock.ts';

const failuresAllowed = 10;
const firstPauseSeconds = 1;
const longestPauseSeconds = 300;
const forgottenAfterSeconds = 900;
const keysLimit = 50_000;

export interface Throttle {
  /** Seconds until the next attempt may be made; 0 when it may be made at once. */
  pause(keys: readonly string[]): number;
  failed(keys: readonly string[]): void;
  succeeded(keys: readonly string[]): void;
}

/**
 * Slows down who guesses: after ten failures an address, or a client, waits a second, then twice as long after each further failure,
 * up to five minutes. A success forgets the client's failures, a quarter of an hour without one the address's too.
 */
export function createThrottle(clock: Clock): Throttle {
  const failures = new Map<string, { count: number; last: number }>();
  const now = () => clock.now().getTime() / 1_000;

  function current(key: string) {
    const found = failures.get(key);
    if (found !== undefined && now() - found.last > forgottenAfterSeconds) {
      failures.delete(key);
      return undefined;
    }
    return found;
  }

  function pauseOf(key: string): number {
    const found = current(key);
    if (found === undefined || found.count < failuresAllowed) return 0;
    const pause = Math.min(longestPauseSeconds, firstPauseSeconds * 2 ** (found.count - failuresAllowed));
    return Math.max(0, Math.ceil(found.last + pause - now()));
  }

  return {
    pause: (keys) => Math.max(0, ...keys.map(pauseOf)),
    failed(keys) {
      for (const key of keys) {
        const count = (current(key)?.count ?? 0) + 1;
        failures.delete(key);
        if (failures.size >= keysLimit) failures.delete(failures.keys().next().value ?? '');
        failures.set(key, { count, last: now() });
      }
    },
    succeeded(keys) {
      for (const key of keys) failures.delete(key);
    },
  };
}

/** One guesser's key: his address, or, as whoever has an IPv6 address has a whole network of them, its first 64 bits. */
export function addressKey(address: string): string {
  if (!ipaddr.isValid(address)) return `address ${address}`;
  const ip = ipaddr.process(address);
  const network =
    ip.kind() === 'ipv4' ? ip : new ipaddr.IPv6([...ip.toByteArray().slice(0, 8), ...Array(8).fill(0)]);
  return `address ${network.toString()}`;
}
