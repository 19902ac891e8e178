/** Runs its iterationTarget again until it succeeds. */

import { ParameterError, type Parameters } from '../expressions/parameters.ts';
import { iterationLimit } from '../format/bounds.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import { choiceParameter, numberParameter, textParameter } from './definition/declared-parameters.ts';
import { readIterationMode } from './iteration-mode.ts';

/** Seconds before a retry, by its number from 1. */
type Delay = (retry: number) => number;

const longestDelay = 3_600;
const double = (first: number, retry: number) => Math.min(longestDelay, first * 2 ** (retry - 1));
const shortSteps = [1, 2];

const delays: Readonly<Record<string, Delay>> = {
  'Retry immediately': () => 0,
  'Short delay': () => 2,
  'Short delay with backoff': (retry) => shortSteps[retry - 1] ?? double(5, retry - shortSteps.length),
  'Long delay': () => 15,
  'Long delay with backoff': (retry) => double(15, retry),
};

const custom = 'Custom';
const unitSeconds = { Second: 1, Seconds: 1, Minute: 60, Minutes: 60, Hour: 3_600, Hours: 3_600 };

export const retry: OrchestrationDefinition = {
  kind: 'orchestration',
  iterates: true,
  about:
    'Runs its `iterationTarget`, and runs it again if it fails, until it succeeds or no retry is left. A cancellation ends the wait between two attempts.',
  group: 'iterators',
  parameters: {
    numberOfRetries: numberParameter('How often it is run again. 3 means up to 4 attempts.', {
      required: true,
    }),
    retryDelay: textParameter(
      `The wait before each retry: seconds (up to ${longestDelay}), or ${[...Object.keys(delays), custom]
        .map((word) => `\`${word}\``)
        .join(', ')}.`,
      { standard: 'Retry immediately' },
    ),
    retryInterval: numberParameter(
      `${custom}: how many units the wait has, from 0 to ${longestDelay}. The time limit of the run counts too.`,
      { standard: '1' },
    ),
    retryTimeUnit: choiceParameter(`${custom}: the unit.`, ['Second', 'Minute', 'Hour'], {
      standard: 'Second',
    }),
  },
  example: `type: retry
iterationTarget: Load orders
parameters:
  numberOfRetries: "3"
  retryDelay: "30"`,
  plan({ parameters, component }) {
    const { target } = readIterationMode(parameters, component);
    return { action: 'retry', target, ...readRetries(parameters) };
  },
  check({ parameters }) {
    readRetries(parameters);
  },
};

function readRetries(parameters: Parameters): { retries: number; delaySeconds: Delay } {
  const retries = parameters.integer('numberOfRetries');
  if (retries < 0 || retries > iterationLimit)
    throw new ParameterError(`"numberOfRetries" is ${retries}: it must be from 0 to ${iterationLimit}`);
  return { retries, delaySeconds: readDelay(parameters) };
}

function readDelay(parameters: Parameters): Delay {
  const text = parameters.optionalText('retryDelay') ?? 'Retry immediately';
  const lowerText = text.trim().toLowerCase();
  if (lowerText === custom.toLowerCase()) return readCustomDelay(parameters);
  const word = Object.keys(delays).find((each) => each.toLowerCase() === lowerText);
  if (word !== undefined) return delays[word] as Delay;
  const seconds = /^\d{1,4}(?:\.\d{1,3})?$/.test(lowerText) ? Number(lowerText) : Number.NaN;
  if (seconds <= longestDelay) return () => seconds;
  throw new ParameterError(
    `"retryDelay" is "${text}": use seconds from 0 to ${longestDelay}, or one of ${[...Object.keys(delays), custom].join(', ')}`,
  );
}

function readCustomDelay(parameters: Parameters): Delay {
  const interval = parameters.optionalInteger('retryInterval') ?? 1;
  if (interval < 0 || interval > longestDelay)
    throw new ParameterError(`"retryInterval" is ${interval}: it must be from 0 to ${longestDelay}`);
  const seconds = interval * parameters.choice<number>('retryTimeUnit', unitSeconds, 1);
  return () => seconds;
}
