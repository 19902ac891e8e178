/**
 * What a slice provides for the tests over all operations. Its `<resource>.guards.ts` has one value of this
 * type, and guards.list.ts lists these values.
 */
import type { Answer } from './client.ts';
import type { Examples, Place } from './place.ts';

/** A request for a name that only one request can get; `turn` distinguishes concurrent requests. */
export type NameClaim = (place: Place, name: string, turn: number) => Promise<Answer>;

/** A resource that stores a number. */
export interface Counted {
  /** Creates it, unless every place has one. */
  create?: (place: Place) => Promise<Answer>;
  path: (place: Place) => string;
  /** The body that sets the number, and the number in a response. */
  set: (count: number) => object;
  get: (body: Record<string, unknown>) => number;
}

export interface SliceGuards {
  /**
   * A successful request for each operation of the management API. Tests send it, and
   * main/reference/published-examples.test.ts records it with its response for the reference. A GET whose path another
   * operation has needs none: it takes that one's path.
   */
  examples: Examples;
  /** The same for messages of the agent protocol. */
  protocolExamples?: Examples;
  /** By operation: how to claim a taken name. */
  uniqueNames?: Readonly<Record<string, NameClaim>>;
  /** By PATCH with If-Match: the number in its resource. */
  counted?: Readonly<Record<string, Counted>>;
  /** By PATCH with If-Match that cannot store a number: the test that covers its lost updates. */
  countedElsewhere?: Readonly<Record<string, string>>;
  /** The operations whose example deletes or blocks the place, or replaces what other examples need of it. */
  takesPlaceAway?: readonly string[];
}
