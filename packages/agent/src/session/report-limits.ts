/** Fits reports into the limits of the protocol, with secrets masked. */
import type { Report, Step, StepLineage, TestResult } from '@headgate/contract';
import { nameLimit, stepSqlLimit, testTextLimit } from '@headgate/contract/without-schemas';
import { cleanText } from './clean-text.ts';
import { limitRecord } from './reported-records.ts';

const messageLimit = 10_000;
const reasonLimit = 1_000;

type Mask = (text: string) => string;
type Ending =
  | Pick<Extract<Report, { type: 'completed' }>, 'type' | 'outcome'>
  | Pick<Extract<Report, { type: 'released' }>, 'type' | 'reason'>;

export function limitStep(step: Step, mask: Mask): Step {
  const { name, message, sql, childPipeline, restart } = step;
  return {
    ...step,
    name: cleanText(mask(name), nameLimit),
    ...(message === undefined ? {} : { message: cleanText(mask(message), messageLimit) }),
    ...(sql === undefined ? {} : { sql: cleanText(mask(sql), stepSqlLimit) }),
    ...(restart === undefined ? {} : { restart: limitRecord(restart, mask) }),
    ...(childPipeline === undefined
      ? {}
      : { childPipeline: { ...childPipeline, name: mask(childPipeline.name) } }),
  };
}

/** Its names come from SQL without the secrets of the run. One that still has a secret is not sent. */
export function limitLineage(lineage: StepLineage, mask: Mask): StepLineage {
  const text = JSON.stringify(lineage);
  if (mask(text) === text) return lineage;
  const { stepId, pipelineRunId } = lineage;
  return {
    stepId,
    pipelineRunId,
    inputs: [],
    outputs: [],
    gaps: ['a name of a table or column is a secret'],
  };
}

export function limitResult(result: TestResult, mask: Mask): TestResult {
  const { message, expected, actual, ...rest } = result;
  const texts = Object.entries({ message, expected, actual }).flatMap(([name, text]) =>
    text === undefined ? [] : [[name, cleanText(mask(text), testTextLimit)]],
  );
  return { ...rest, ...Object.fromEntries(texts) };
}

export function limitEnding(ending: Ending, mask: Mask): Ending {
  if (ending.type === 'released') return { ...ending, reason: cleanText(mask(ending.reason), reasonLimit) };
  const { message, ...rest } = ending.outcome;
  return {
    type: 'completed',
    outcome: message === undefined ? rest : { ...rest, message: cleanText(mask(message), messageLimit) },
  };
}
