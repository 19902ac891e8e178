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
  steps?: readonly (Omit<StepLineage, 'pipelineRunId'> & { finishedAt?: string })[];
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
  /** The end of the last step that wrote it. */
  writtenAt?: string;
}

export interface RunLineage {
  inputs: Dataset[];
  outputs: WrittenDataset[];
  gaps: { stepId: string; reason: string }[];
}

/** Names a dataset in its environment. */
export const getDatasetKey = ({ kind, name }: Pick<Dataset, 'kind' | 'name'>): string => `${kind}:${name}`;

type SourceColumn = SourceField & { transformation: ColumnTransformation };

/** A dataset while steps are merged: its fields by their keys, so that what is known costs a step nothing. */
interface MergedDataset extends Omit<WrittenDataset, 'columns' | 'decidedBy'> {
  columns: Map<string, Map<string, SourceColumn>>;
  decidedBy: Map<string, SourceField>;
}

/** What the steps did together, in their order. The time grows with what they reported, not with what is merged. */
export function mergeSteps(steps: LineageRecord['steps'] = []): RunLineage {
  const inputs = new Map<string, Dataset>();
  const outputs = new Map<string, MergedDataset>();
  const gaps: RunLineage['gaps'] = [];
  for (const step of steps) {
    for (const input of step.inputs) addInput(inputs, input);
    for (const output of step.outputs) addOutput(outputs, output, step);
    for (const reason of step.gaps ?? []) gaps.push({ stepId: step.stepId, reason });
  }
  const written = [...outputs.values()].map(({ columns, decidedBy, ...output }) => ({
    ...output,
    columns: new Map([...columns].map(([name, sources]) => [name, [...sources.values()]])),
    decidedBy: [...decidedBy.values()],
  }));
  return { inputs: [...inputs.values()], outputs: written, gaps };
}

function addInput(inputs: Map<string, Dataset>, input: Dataset): void {
  const key = getDatasetKey(input);
  if (input.fields !== undefined || !inputs.has(key)) inputs.set(key, input);
}

function addOutput(
  outputs: Map<string, MergedDataset>,
  output: OutputDataset,
  { inputs, finishedAt }: Pick<NonNullable<LineageRecord['steps']>[number], 'inputs' | 'finishedAt'>,
): void {
  const { kind, name, rowCount, dropped = false, createdOrReplaced = false } = output;
  const key = getDatasetKey(output);
  // What an earlier step wrote is gone. What comes from a dataset that is dropped is followed through it.
  const before = createdOrReplaced ? undefined : outputs.get(key);
  const written: MergedDataset = {
    kind,
    name,
    fields: output.fields ?? before?.fields,
    columns: before?.columns ?? new Map(),
    decidedBy: before?.decidedBy ?? new Map(),
    isDropped: dropped,
    isReplaced: createdOrReplaced || before?.isReplaced === true,
  };
  for (const column of output.columns ?? []) {
    const sources = written.columns.get(column.name) ?? new Map();
    written.columns.set(column.name, sources);
    addFields(sources, column.inputs, inputs);
  }
  addFields(written.decidedBy, output.decidedBy ?? [], inputs);
  const counts = [before?.rowCount, rowCount].filter((count) => count !== undefined);
  if (counts.length > 0)
    written.rowCount = Math.min(
      counts.reduce((sum, count) => sum + count, 0),
      Number.MAX_SAFE_INTEGER,
    );
  if (finishedAt !== undefined) written.writtenAt = finishedAt;
  outputs.delete(key);
  outputs.set(key, written);
}

function addFields<Field extends { dataset: number; field: string; transformation?: string }>(
  known: Map<string, Omit<Field, 'dataset'> & { dataset: Dataset }>,
  added: readonly Field[],
  inputs: readonly Dataset[],
): void {
  for (const { dataset, ...field } of added) {
    const source = inputs[dataset];
    if (source === undefined) continue;
    known.set(JSON.stringify([getDatasetKey(source), field.field, field.transformation]), {
      ...field,
      dataset: source,
    });
  }
}
