/**
 * The lineage of a run of a pipeline, as it is stored, and merged from that of its steps.
 *
 * - **record**: a start or an end of a run, with the lineage of its steps as the agent reported it
 * - **decides**: a field that no value comes from, but which decides which rows of a dataset are written
 */
import type {
  ColumnTransformation,
  Dataset,
  DatasetField,
  OutputDataset,
  StepLineage,
} from '@headgate/contract';

export interface LineageRecord {
  runId: string;
  eventType: 'START' | 'COMPLETE' | 'FAIL' | 'ABORT';
  eventTime: string;
  projectId: string;
  environmentId: string;
  environmentName: string;
  executionId: string;
  pipelineName: string;
  pipelineType: string;
  versionName: string;
  /** Of a pipeline that another one called. */
  parent?: { runId: string; pipelineName: string };
  message?: string;
  /** The statements of its steps. */
  sql?: string;
  steps?: readonly Omit<StepLineage, 'pipelineRunId'>[];
  /** Steps whose lineage was too much to keep. */
  omittedSteps?: number;
}

export interface SourceField {
  dataset: Dataset;
  field: string;
}

export interface WrittenDataset extends Pick<OutputDataset, 'kind' | 'name' | 'rowCount'> {
  fields: readonly DatasetField[] | undefined;
  /** By the name of the column, the fields that its values come from. */
  columns: Map<string, (SourceField & { transformation: ColumnTransformation })[]>;
  decidedBy: SourceField[];
  isDropped: boolean;
  isReplaced: boolean;
}

export interface RunLineage {
  inputs: Dataset[];
  outputs: WrittenDataset[];
  gaps: { stepId: string; reason: string }[];
}

/** Names a dataset in its environment. */
export const getDatasetKey = ({ kind, name }: Pick<Dataset, 'kind' | 'name'>): string => `${kind}:${name}`;

/** What the steps did together, in their order. */
export function mergeSteps(steps: LineageRecord['steps'] = []): RunLineage {
  const inputs = new Map<string, Dataset>();
  const outputs = new Map<string, WrittenDataset>();
  const gaps: RunLineage['gaps'] = [];
  for (const step of steps) {
    for (const input of step.inputs) addInput(inputs, input);
    for (const output of step.outputs) addOutput(outputs, output, step.inputs);
    for (const reason of step.gaps ?? []) gaps.push({ stepId: step.stepId, reason });
  }
  return { inputs: [...inputs.values()], outputs: [...outputs.values()], gaps };
}

function addInput(inputs: Map<string, Dataset>, input: Dataset): void {
  const key = getDatasetKey(input);
  if (input.fields !== undefined || !inputs.has(key)) inputs.set(key, input);
}

function addOutput(
  outputs: Map<string, WrittenDataset>,
  output: OutputDataset,
  inputs: readonly Dataset[],
): void {
  const { kind, name, rowCount, dropped = false, createdOrReplaced = false } = output;
  const key = getDatasetKey(output);
  // What an earlier step wrote is gone. What comes from a dataset that is dropped is followed through it.
  const before = createdOrReplaced ? undefined : outputs.get(key);
  const find = <Field extends { dataset: number; field: string }>({ dataset, ...field }: Field) => {
    const source = inputs[dataset];
    return source === undefined ? [] : [{ ...field, dataset: source }];
  };
  const columns = new Map(before?.columns);
  for (const column of output.columns ?? []) {
    const known = columns.get(column.name) ?? [];
    columns.set(column.name, addNew(known, column.inputs.flatMap(find)));
  }
  const counts = [before?.rowCount, rowCount].filter((count) => count !== undefined);
  const written: WrittenDataset = {
    kind,
    name,
    fields: output.fields ?? before?.fields,
    columns,
    decidedBy: addNew(before?.decidedBy ?? [], (output.decidedBy ?? []).flatMap(find)),
    isDropped: dropped,
    isReplaced: createdOrReplaced || before?.isReplaced === true,
  };
  if (counts.length > 0) written.rowCount = counts.reduce((sum, count) => sum + count, 0);
  outputs.delete(key);
  outputs.set(key, written);
}

/** Adds the fields that are not there yet. */
function addNew<Field extends SourceField & { transformation?: string }>(
  known: readonly Field[],
  added: readonly Field[],
): Field[] {
  const byKey = new Map<string, Field>();
  for (const field of [...known, ...added]) {
    const { dataset, field: name, transformation } = field;
    byKey.set(JSON.stringify([getDatasetKey(dataset), name, transformation]), field);
  }
  return [...byKey.values()];
}
