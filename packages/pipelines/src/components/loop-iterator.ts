/** Runs its iterationTarget once for each number from a start to an end. */

import { ParameterError, type Parameters } from '../expressions/parameters.ts';
import { iterationLimit } from '../format/bounds.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import { numberParameter, textParameter } from './definition/declared-parameters.ts';
import {
  checkIterationMode,
  iterationNoEffect,
  iterationParameters,
  readIterationMode,
} from './iteration-mode.ts';

export const loopIterator: OrchestrationDefinition = {
  kind: 'orchestration',
  iterates: true,
  about:
    'Runs its `iterationTarget` once for each whole number from a start to an end, both included. A negative increment counts down. If the end is behind the start, nothing runs.',
  group: 'iterators',
  parameters: {
    variableToIterate: textParameter('The variable that holds the number.', {
      required: true,
      variable: { as: 'scalar' },
    }),
    startingValue: numberParameter('The first number.', { required: true }),
    incrementValue: numberParameter('What is added for each iteration. Not 0.', { required: true }),
    endValue: numberParameter('The last number.', { required: true }),
    ...iterationParameters,
  },
  noEffect: iterationNoEffect,
  example: `type: loop-iterator
iterationTarget: Load one year
parameters:
  variableToIterate: year
  startingValue: "2020"
  incrementValue: "1"
  endValue: "\${String(new Date().getFullYear())}"`,
  plan({ parameters, component }) {
    const mode = readIterationMode(parameters, component);
    const variable = parameters.text('variableToIterate');
    const { start, increment, end } = readRange(parameters);
    const count = Math.max(0, Math.floor((end - start) / increment) + 1);
    if (count > iterationLimit) {
      throw new ParameterError(
        `the loop from ${start} to ${end} by ${increment} has ${count} iterations; the limit is ${iterationLimit}: use a larger increment`,
      );
    }
    const iterations = Array.from(
      { length: count },
      (_, index) => [[variable, start + index * increment]] as const,
    );
    if (count > 0) return { action: 'iterate', iterations, ...mode };
    const message = `no iteration: counting from ${start} by ${increment} never reaches ${end}`;
    return { action: 'iterate', iterations, message, ...mode };
  },
  check({ parameters }) {
    readRange(parameters);
    checkIterationMode(parameters);
  },
};

function readRange(parameters: Parameters): { start: number; increment: number; end: number } {
  const increment = parameters.integer('incrementValue');
  if (increment === 0 && !isOpen(parameters.value('incrementValue')))
    throw new ParameterError(
      '"incrementValue" is 0, so the loop would never end: use 1, or -1 to count down',
    );
  return { start: parameters.integer('startingValue'), increment, end: parameters.integer('endValue') };
}

/** An expression is not resolved in the check before the run, where it counts as 0. */
const isOpen = (value: unknown) => typeof value === 'string' && value.includes('${');
