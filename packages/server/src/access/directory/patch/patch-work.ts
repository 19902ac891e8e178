/**
 * What one PATCH may cost. It is applied in one piece, so a thousand operations that each compare all values
 * of an attribute with a long filter would stop the server for everybody.
 */
import { createValueProblem } from '../schema/scim-value.ts';

const comparisonLimit = 100_000;

export class PatchWork {
  #left = comparisonLimit;

  /** Throws `invalid-attribute-value` if the PATCH compares too much. */
  spend(comparisons: number): void {
    this.#left -= comparisons;
    if (this.#left < 0)
      throw createValueProblem(
        `The PATCH compares values more than ${comparisonLimit} times; send fewer operations in one request, or replace the attribute as a whole.`,
      );
  }
}
