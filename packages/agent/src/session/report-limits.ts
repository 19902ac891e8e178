/** Fits reports into the limits of the protocol, with secrets masked. */
import type {
  CarriedVariable,
  Report,
  RunVariable,
  RunVariables,
  Step,
  StepLineage,
  StepRecord,
  TestResult,
} from '@headgate/contract';
import {
  gridColumnLimit,
  nameLimit,
  stepSqlLimit,
  testTextLimit,
  textLimit,
} from '@headgate/contract/without-schemas';
import { cleanText } from './clean-text.ts';

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

/** What steps record for a restart, as it is reported: no value that the agent has to mask leaves it. */
function limitRecord(record: StepRecord, mask: Mask): StepRecord {
  const { next, variables } = record;
  return {
    ...record,
    ...(next === undefined ? {} : { next: next.map((name) => cleanText(mask(name), nameLimit)) }),
    ...(variables === undefined ? {} : { variables: variables.map((each) => limitValue(each, mask)) }),
  };
}

function limitValue(variable: CarriedVariable, mask: Mask): CarriedVariable {
  const { name, value } = variable;
  const cells = Array.isArray(value) ? value.flat() : [value];
  const isSecret = cells.some((cell) => typeof cell === 'string' && mask(cell) !== cell);
  return isSecret ? { name, lost: 'secret' } : variable;
}

/** Variables are masked again, and within the bounds of the protocol whatever a run records. */
export function limitVariables({ pipelineRunId, variables }: RunVariables, mask: Mask): RunVariables {
  return {
    pipelineRunId,
    variables: variables
      .filter(({ name }) => name !== '')
      .map((variable) => ({
        ...variable,
        name: cleanText(variable.name, nameLimit),
        ...limitReportedValue(variable.value, mask),
      })),
  };
}

function limitReportedValue(
  value: RunVariable['value'],
  mask: Mask,
): Pick<RunVariable, 'value' | 'truncated'> {
  if (value === undefined || typeof value === 'number') return {};
  if (typeof value === 'string') return { value: cleanText(mask(value), textLimit) };
  const columns = value.columns.slice(0, gridColumnLimit).map(({ name, type }) => ({
    name: cleanText(name, nameLimit) || '(no name)',
    type,
  }));
  const rows = value.rows.map((row) =>
    row
      .slice(0, gridColumnLimit)
      .map((cell) => (typeof cell === 'string' ? cleanText(mask(cell), textLimit) : cell)),
  );
  const isCut = value.columns.length > gridColumnLimit;
  return { value: { columns, rows }, ...(isCut ? { truncated: true } : {}) };
}
