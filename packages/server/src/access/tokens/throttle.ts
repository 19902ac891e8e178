/**
 * Slows down guessing of client secrets. Nothing is counted by the client id alone, because knowing a client
 * id must not be enough to lock its owner out (docs/adr/0031).
 *
 * Terminology
 *   address   the caller's IPv4 address, or the first 64 bits of its IPv6 address
 *   pair      a client id together with the address that asks for its token
 *   pause     after its limit of failures, an address or a pair waits a second, then twice as long after each
 *             further failure, up to five minutes; a quarter of an hour without a failure resets it
 */
import { createHash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { Clock } from '../../kernel/clock.ts';

export const pairLimit = 10;
export const addressLimit = 10;
const firstPauseSeconds = 1;
const longestPauseSeconds = 300;
const forgottenAfterSeconds = 900;
/** Of a pair: as many stale secrets may be in use at one address without slowing down others there. */
const knownGuesses = 4;
/**
 * Of each table. Beyond it the entry whose last failure is oldest is dropped; this forgets failures and
 * refuses nothing.
 */
const entryLimit = 50_000;

export interface Attempt {
  address: string;
  clientId: string;
  /** A digest of the secret that was sent. */
  guess: Buffer;
}

export interface Throttle {
  /** Seconds that the address waits; 0 when it may try now. */
  getAddressPause(address: string): number;
  /** Seconds that the pair waits after a wrong secret; a right one passes at once. */
  getPairPause(attempt: Pick<Attempt, 'address' | 'clientId'>): number;
  recordFailure(attempt: Attempt): void;
  /**
   * Resets the failures of the pair, not of the address: a successful login must not make guessing at other
   * clients free.
   */
  recordSuccess(attempt: Pick<Attempt, 'address' | 'clientId'>): void;
}

export function createThrottle(clock: Clock): Throttle {
  const addresses = createFailures(clock, addressLimit);
  const pairs = createFailures(clock, pairLimit);
  return {
    getAddressPause: (address) => addresses.pause(buildAddressKey(address)),
    getPairPause: (attempt) => pairs.pause(buildPairKey(attempt)),
    recordFailure(attempt) {
      const guess = attempt.guess.toString('base64');
      // A program that repeats a stale secret does not guess, and must not slow down others at its address.
      if (!pairs.hasGuess(buildPairKey(attempt), guess)) addresses.count(buildAddressKey(attempt.address));
      pairs.count(buildPairKey(attempt), guess);
    },
    recordSuccess: (attempt) => pairs.reset(buildPairKey(attempt)),
  };
}

interface Failures {
  count: number;
  /** In seconds. */
  last: number;
  /** The latest different ones. */
  guesses: readonly string[];
}

/** The failures of many keys, in the order of the last one of each. */
function createFailures(clock: Clock, limit: number) {
  const failures = new Map<string, Failures>();
  const readSeconds = () => clock.now().getTime() / 1_000;

  function findFailures(key: string): Failures | undefined {
    const found = failures.get(key);
    if (found !== undefined && readSeconds() - found.last > forgottenAfterSeconds) {
      failures.delete(key);
      return undefined;
    }
    return found;
  }

  return {
    pause(key: string): number {
      const found = findFailures(key);
      if (found === undefined || found.count < limit) return 0;
      const pause = Math.min(longestPauseSeconds, firstPauseSeconds * 2 ** (found.count - limit));
      return Math.max(0, Math.ceil(found.last + pause - readSeconds()));
    },
    hasGuess: (key: string, guess: string) => findFailures(key)?.guesses.includes(guess) ?? false,
    count(key: string, guess?: string): void {
      const { count, guesses } = findFailures(key) ?? { count: 0, guesses: [] };
      failures.delete(key);
      if (failures.size >= entryLimit) failures.delete(failures.keys().next().value ?? '');
      const known = guess === undefined ? guesses : [guess, ...guesses.filter((each) => each !== guess)];
      failures.set(key, { count: count + 1, last: readSeconds(), guesses: known.slice(0, knownGuesses) });
    },
    /** The guesses stay known: a program with the right secret may run beside one with a stale one. */
    reset(key: string): void {
      const found = findFailures(key);
      if (found !== undefined) found.count = 0;
    },
  };
}

/** Of one length, however long the client id is. */
function buildPairKey({ address, clientId }: Pick<Attempt, 'address' | 'clientId'>): string {
  return createHash('sha256')
    .update(`${buildAddressKey(address)} ${clientId}`)
    .digest('base64');
}

/** An IPv6 customer has a whole network of 64 bits, and counts as one address. */
export function buildAddressKey(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const ip = ipaddr.process(address);
  const network =
    ip.kind() === 'ipv4' ? ip : new ipaddr.IPv6([...ip.toByteArray().slice(0, 8), ...Array(8).fill(0)]);
  return network.toString();
}
