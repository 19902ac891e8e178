/** What all iterators share: their target, and how they run it. */

import { ParameterError, type Parameters } from '../expressions/parameters.ts';
import { iterationLimit } from '../format/bounds.ts';
import type { OrchestrationComponent } from '../format/pipeline.ts';
import type { IterationMode } from './definition/component.ts';
import { choiceParameter, yesNoParameter } from './definition/declared-parameters.ts';

export const iterationParameters = {
  concurrency: choiceParameter(
    'Whether iterations run one after the other or at the same time, up to 10.',
    ['Sequential', 'Concurrent'],
    { standard: 'Sequential' },
  ),
  breakOnFailure: yesNoParameter('Whether no further iteration starts after a failed one.', 'No'),
  stopOnCondition: yesNoParameter(
    'Only No is supported. Use `breakOnFailure`, or choose the rows beforehand.',
    'No',
  ),
};

/** Steps always show the values of their iteration. */
export const iterationNoEffect = ['recordValuesInTaskHistory'];

/** @throws ParameterError */
export function readIterationMode(parameters: Parameters, component: OrchestrationComponent): IterationMode {
  if (component.iterationTarget === undefined) {
    throw new ParameterError(
      'the iterator has no iterationTarget: name the component to run in it, beside type and parameters',
    );
  }
  return { target: component.iterationTarget, ...readMode(parameters) };
}

/** Checks the mode before the run. A missing iterationTarget has a finding of its own. */
export function checkIterationMode(parameters: Parameters): void {
  readMode(parameters);
}

function readMode(parameters: Parameters) {
  if (parameters.yes('stopOnCondition', false)) {
    throw new ParameterError(
      '"stopOnCondition" is Yes, which is not supported: set it to No, and use breakOnFailure or choose the rows beforehand',
    );
  }
  return {
    concurrent: parameters.choice('concurrency', { Sequential: false, Concurrent: true }, false),
    breakOnFailure: parameters.yes('breakOnFailure', false),
  };
}

/** @throws ParameterError if there are too many iterations; `what` names their source */
export function checkIterationCount(count: number, what: string): void {
  if (count <= iterationLimit) return;
  throw new ParameterError(
    `${what} has ${count} rows; the limit of an iterator is ${iterationLimit}: filter them`,
  );
}
