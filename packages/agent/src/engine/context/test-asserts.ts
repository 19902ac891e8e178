/** What the asserts of a test found, for its result. */
import type { AssertionFault } from '@headgate/pipelines';
import type { TestedOutcome } from '../ports/ports.ts';

/** Characters of each text of a result in the agent protocol. */
const textLimit = 4_000;

export interface TestAsserts {
  /** An assert component ran. `fault`: why it does not hold. */
  add(place: { path: string; component: string }, fault: AssertionFault | undefined): void;
  getOutcome(): TestedOutcome;
}

/** The first fault counts, also if the pipeline goes on after it. */
export function createTestAsserts(mask: (text: string) => string): TestAsserts {
  const outcome: TestedOutcome = { asserts: 0 };
  const limit = (text: string) => {
    const masked = mask(text);
    return masked.length <= textLimit ? masked : `${masked.slice(0, textLimit - 1).toWellFormed()}…`;
  };
  return {
    add({ path, component }, fault) {
      outcome.asserts += 1;
      if (fault === undefined) return;
      outcome.fault ??= {
        message: limit(`${path}: "${component}": ${fault.message}`),
        expected: limit(fault.expected),
        actual: limit(fault.actual),
      };
    },
    getOutcome: () => outcome,
  };
}
