import { randomBytes } from 'node:crypto';
import type { Clock } from './clock.ts';

/** Makes identifiers; an argument like the clock, so that a test can foresee them. */
export type NewId = () => string;

/**
 * UUIDs of version 7 (RFC 9562 §5.7): their order is the order of their making, to the millisecond and, within one process,
 * beyond it by a counter in `rand_a`. Indexes stay compact, and "newest first" is an order by id.
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
    // Joined, it is one string; by `+` or a template a tree of its parts, several times as large while it is kept.
    return [
      time.slice(0, 8),
      time.slice(8),
      `7${counter.toString(16).padStart(3, '0')}`,
      variant + rest,
      tail,
    ].join('-');
  };
}

/** The time in a UUID of version 7: of what is listed by its id, the time that agrees with the order. */
export function readTimeOfId(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether an opaque identifier can be one of ours; another is not found, without asking the database. */
export function isUuid(text: string): boolean {
  return uuidForm.test(text);
}

const unusedUuid = '00000000-0000-0000-0000-000000000000';

/** An opaque identifier as a parameter of a statement; one that cannot be ours becomes one that nothing has. */
export function toUuid(text: string): string {
  return isUuid(text) ? text : unusedUuid;
}
