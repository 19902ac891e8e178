/**
 * What a slice tells the tests over all operations. Its `<resource>.guards.ts` has one value of this type, and
 * guards.ts lists those values.
 */
import type { Answer } from './client.ts';
import type { PermissionRowName } from './permission-rows.ts';
import type { Examples, Place } from './place.ts';

/**
 * A request for a name that only one of several requests can get; `turn` tells apart those that are sent at
 * once.
 */
export type NameClaim = (place: Place, name: string, turn: number) => Promise<Answer>;

/** A resource in which a number is kept. */
export interface Counted {
  /** Makes it, unless every place has one. */
  create?: (place: Place) => Promise<Answer>;
  path: (place: Place) => string;
  /** The body that sets the number, and the number in an answer. */
  set: (count: number) => object;
  get: (body: Record<string, unknown>) => number;
}

export interface SliceGuards {
  /**
   * A request that succeeds for each operation of the management interface. Tests send it, and
   * main/reference/published-examples.test.ts records it with its answer for the reference.
   */
  examples: Examples;
  /** The same for messages of the agent protocol. */
  protocolExamples?: Examples;
  /** The row of the permission table for each operation. */
  permissions: Partial<Record<PermissionRowName, readonly string[]>>;
  /** By the operation: how a taken name is claimed. */
  uniqueNames?: Readonly<Record<string, NameClaim>>;
  /** By the PATCH that takes If-Match: what is counted in its resource. */
  counted?: Readonly<Record<string, Counted>>;
  /** A PATCH that takes If-Match and cannot keep a number, and the test that tries its lost updates. */
  countedElsewhere?: Readonly<Record<string, string>>;
  /** The operations whose example removes the place itself. */
  takesPlaceAway?: readonly string[];
}
