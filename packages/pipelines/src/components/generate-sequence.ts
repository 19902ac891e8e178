/** A column of numbers. */
import { ParameterError } from '../expressions/parameters.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { numberParameter, textParameter } from './definition/declared-parameters.ts';

/** A sequence of a wrong end would fill the disk. */
const rowLimit = 100_000_000;

export const generateSequence: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'A column with the numbers from a start to an end, which is included if it is reached.',
  group: 'read',
  parameters: {
    startValue: numberParameter('The first number.', { required: true }),
    incrementValue: numberParameter('The step. A negative one counts down.', { required: true }),
    endValue: numberParameter('The last number.', { required: true }),
    outputColumn: textParameter('The column.', { required: true }),
  },
  example: `type: generate-sequence
parameters:
  startValue: "1"
  incrementValue: "1"
  endValue: "12"
  outputColumn: month`,
  sources: [0, 0],
  plan({ parameters, dialect }) {
    const column = parameters.text('outputColumn');
    const [start, step] = [parameters.integer('startValue'), parameters.integer('incrementValue')];
    const end = parameters.integer('endValue');
    if (step === 0) throw new ParameterError('"incrementValue" is 0: use another number');
    if ((end - start) / step >= rowLimit)
      throw new ParameterError(`the sequence has more than ${rowLimit} numbers: change "endValue"`);
    return {
      select: dialect.countUp(start, end, step, column),
      columns: [column],
    };
  },
};
