/**
 * Slows down guessing of client secrets. Failures are never counted by client id alone: knowing a client id
 * must not be enough to lock its owner out (docs/adr/0031).
 *
 * Terminology
 *   address   the caller's IPv4 address, or the first 64 bits of its IPv6 address
 *   pair      a client id together with the address that requests its token
 *   pause     after its limit of failures, an address or a pair waits a second, then twice as long after each
 *             further failure, up to five minutes; a quarter of an hour without a failure resets it
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { buildAddressKey } from './address-key.ts';

export const pairLimit = 10;
export const addressLimit = 10;
const firstPauseSeconds = 1;
const longestPauseSeconds = 300;
const forgottenAfterSeconds = 900;
/** Guesses remembered of a pair: this many stale secrets at one address do not slow down others there. */
const knownGuesses = 4;
/**
 * Entries of each table. Beyond it the entry with the oldest last failure is dropped, which never refuses a
 * request.
 */
const entryLimit = 50_000;

export interface Attempt {
  address: string;
  clientId: string;
  /** Digest of the secret that was sent. */
  guess: Buffer;
}

export interface Throttle {
  /** Seconds until the address may try again; 0 if it may now. */
  getAddressPause(address: string): number;
  /** Seconds that the pair must wait after a wrong secret; the right secret is accepted at once. */
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
  /** Time of the last failure, in seconds. */
  last: number;
  /** The latest distinct guesses. */
  guesses: readonly string[];
}

/** The failures of many keys, ordered by each key's last failure. */
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
    /** Keeps the guesses: a program with the right secret may run beside one with a stale secret. */
    reset(key: string): void {
      const found = findFailures(key);
      if (found !== undefined) found.count = 0;
    },
  };
}

/** A hash, so that long client ids do not take more memory. */
function buildPairKey({ address, clientId }: Pick<Attempt, 'address' | 'clientId'>): string {
  return createHash('sha256')
    .update(`${buildAddressKey(address)} ${clientId}`)
    .digest('base64');
}
