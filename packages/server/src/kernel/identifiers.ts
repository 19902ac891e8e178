import { randomBytes } from 'node:crypto';
import type { Clock } from './clock.ts';

/** Makes identifiers. Passed as an argument, like the clock, so that tests can predict them. */
export type NewId = () => string;

/**
 * Makes UUIDs of version 7 (RFC 9562 §5.7). They sort by creation time to the millisecond and, within one
 * process, by a counter in `rand_a`. Indexes stay compact, and "newest first" is an order by id.
 */
export function createUuidMaker(clock: Clock): NewId {
  let lastMilliseconds = 0;
  let counter = 0;
  let pool = randomBytes(0);
  let used = 0;
  return () => {
    const milliseconds = clock.now().getTime();
    if (milliseconds > lastMilliseconds) {
      lastMilliseconds = milliseconds;
      counter = 0;
    } else if (++counter > 0xfff) {
      lastMilliseconds += 1;
      counter = 0;
    }
    if (used + 8 > pool.length) {
      pool = randomBytes(8 * 256);
      used = 0;
    }
    const random = pool.toString('hex', used, used + 8);
    used += 8;
    const time = lastMilliseconds.toString(16).padStart(12, '0');
    const variant = ((Number.parseInt(random[0] ?? '0', 16) & 0x3) | 0x8).toString(16);
    const [rest, tail] = [random.slice(1, 4), random.slice(4, 16)];
    // `join` makes one flat string. `+` and templates make a tree of parts, which takes several times the
    // memory.
    return [
      time.slice(0, 8),
      time.slice(8),
      `7${counter.toString(16).padStart(3, '0')}`,
      variant + rest,
      tail,
    ].join('-');
  };
}

/** The time in a UUID of version 7. Lists ordered by id show this time, so that time and order agree. */
export function readTimeOfId(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether a text is a UUID. If not, it cannot exist, and the database need not be asked. */
export function isUuid(text: string): boolean {
  return uuidForm.test(text);
}

const unusedUuid = '00000000-0000-0000-0000-000000000000';

/**
 * Turns an identifier from a request into a parameter. A text that is no UUID becomes one that does not
 * exist.
 */
export function toUuid(text: string): string {
  return isUuid(text) ? text : unusedUuid;
}
