/** Records with which variables a pipeline starts and where each value came from. The record is bounded. */
import type { ProjectVariable, RunVariable, RunVariables, VariableSource } from '@headgate/contract';
import {
  runGridLimit,
  runGridRowsLimit,
  runTextLimit,
  runValuesLimit,
  runVariablesLimit,
} from '@headgate/contract/without-schemas';
import {
  findSecretOfDefault,
  type Grid,
  isGrid,
  type Pipeline,
  type Variable,
  type VariableScope,
  type VariableValue,
} from '@headgate/pipelines';

/** Characters of all records of one run. */
const recordsLimit = 10 * 1_048_576;

export interface StartedPipeline {
  pipelineRunId: string;
  pipeline: Pipeline;
  scope: VariableScope;
  /** The names of the variables that the caller or the request sets. */
  overridden: ReadonlySet<string>;
  isRoot: boolean;
}

/** @param initial the project's variables at the start of the run */
export function createVariableRecorder(
  projectVariables: readonly ProjectVariable[],
  initial: VariableScope,
  mask: (text: string) => string,
  record: (variables: RunVariables) => void,
): (started: StartedPipeline) => void {
  const overridden = new Set(
    projectVariables.filter((one) => one.isOverride === true).map(({ name }) => name),
  );
  const firstValues = new Map(initial.all().map(({ name, value }) => [name, value]));
  let left = recordsLimit;

  function findSource({ name, value }: Variable, started: StartedPipeline): VariableSource {
    if (started.overridden.has(name)) return started.isRoot ? 'request' : 'caller';
    if (started.pipeline.variables.has(name)) return 'default';
    // Another pipeline of the run has changed it.
    if (firstValues.get(name) !== value) return 'caller';
    return overridden.has(name) ? 'override' : 'project';
  }

  return (started) => {
    if (left <= 0) return;
    const all = started.scope.all().sort((one, other) => (one.name < other.name ? -1 : 1));
    let room = runValuesLimit;
    const variables = all.slice(0, runVariablesLimit).map((variable): RunVariable => {
      const source = findSource(variable, started);
      const { name, type } = variable;
      const declared = started.pipeline.variables.get(name);
      const secret = source === 'default' ? findSecretOfDefault(declared?.defaultValue ?? '') : undefined;
      if (secret !== undefined) return { name, type, source, secretReference: secret };
      const rendered = renderValue(variable, mask);
      room -= JSON.stringify(rendered).length;
      return { name, type, source, ...(room < 0 ? { truncated: true } : rendered) };
    });
    left -= JSON.stringify(variables).length;
    if (left >= 0 && variables.length > 0) record({ pipelineRunId: started.pipelineRunId, variables });
  };
}

type Rendered = Pick<RunVariable, 'value' | 'rowCount' | 'truncated'>;

/** The value as it is recorded. */
export function renderValue(variable: Variable, mask: (text: string) => string): Rendered {
  const value = getWritten(variable);
  if (value === null) return {};
  if (isGrid(value)) return renderGrid(value, mask);
  const text = mask(String(value));
  if (typeof value === 'number') return { value: text === String(value) ? value : text };
  if (text.length <= runTextLimit) return { value: text };
  return { value: `${text.slice(0, runTextLimit - 1).toWellFormed()}…`, truncated: true };
}

/** A value that is resolved when it is read is shown as it is written. */
function getWritten({ value, columns, template }: Variable): VariableValue {
  if (template === undefined) return value;
  return (Array.isArray(template) ? { columns, rows: template } : template) as VariableValue;
}

/** The rows that fit. */
function renderGrid({ columns, rows }: Grid, mask: (text: string) => string): Rendered {
  const shown: (string | number | null)[][] = [];
  let length = 0;
  for (const row of rows.slice(0, runGridRowsLimit)) {
    const cells = row.map((cell) =>
      cell === null || mask(String(cell)) === String(cell) ? cell : mask(String(cell)),
    );
    length += JSON.stringify(cells).length;
    if (length > runGridLimit) break;
    shown.push(cells);
  }
  return {
    value: { columns: columns.map(({ name, type }) => ({ name, type })), rows: shown },
    rowCount: rows.length,
    ...(shown.length < rows.length ? { truncated: true } : {}),
  };
}
