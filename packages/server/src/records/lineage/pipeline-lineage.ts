/** The part of the graph that a successful run is. */
import { createHash } from 'node:crypto';
import type { DatasetField } from '@headgate/contract';
import { getDatasetKey, type LineageRecord, mergeSteps } from './lineage-record.ts';

interface DatasetUse {
  dataset: string;
  isWrite: boolean;
  fields?: readonly DatasetField[];
  rowCount?: number;
  writtenAt?: string;
}

interface ColumnUse {
  dataset: string;
  field: string;
  toDataset: string;
  toField?: string;
  transformation?: string;
}

export interface PipelineLineage {
  datasets: DatasetUse[];
  columns: ColumnUse[];
  /** Uses of columns that are more than the graph keeps. */
  omittedColumns: number;
  /** Of both, without numbers of rows: most runs of a pipeline read and write the same. */
  digest: string;
}

/**
 * Characters of the names in the columns that are kept: each use of a column repeats the names of its datasets, which a
 * record has once.
 */
const columnCharacters = 4_194_304;

/** What a run leaves behind; datasets that it dropped itself are only on the ways of columns. */
export function describeLineage({ steps }: Pick<LineageRecord, 'steps'>): PipelineLineage {
  const { inputs, outputs } = mergeSteps(steps);
  const dropped = new Set(outputs.filter(({ isDropped }) => isDropped).map(getDatasetKey));
  const reads = inputs.map((input) => ({
    dataset: getDatasetKey(input),
    isWrite: false,
    ...(input.fields === undefined ? {} : { fields: input.fields }),
  }));
  const writes = outputs.map((output) => ({
    dataset: getDatasetKey(output),
    isWrite: true,
    ...(output.fields === undefined ? {} : { fields: output.fields }),
    ...(output.rowCount === undefined ? {} : { rowCount: output.rowCount }),
    ...(output.writtenAt === undefined ? {} : { writtenAt: output.writtenAt }),
  }));
  const datasets: DatasetUse[] = [...reads, ...writes].filter(({ dataset }) => !dropped.has(dataset));
  const all = outputs.flatMap((output): ColumnUse[] => {
    const toDataset = getDatasetKey(output);
    const derived = [...output.columns].flatMap(([toField, sources]) =>
      sources.map(({ dataset, field, transformation }) => ({
        dataset: getDatasetKey(dataset),
        field,
        toDataset,
        toField,
        transformation,
      })),
    );
    const deciding = output.decidedBy.map(({ dataset, field }) => ({
      dataset: getDatasetKey(dataset),
      field,
      toDataset,
    }));
    return [...derived, ...deciding];
  });
  const columns = limitColumns(all);
  const omittedColumns = all.length - columns.length;
  const shape = JSON.stringify([
    datasets.map(({ rowCount, writtenAt, ...use }) => use),
    columns,
    omittedColumns,
  ]);
  return { datasets, columns, omittedColumns, digest: createHash('sha256').update(shape).digest('hex') };
}

function limitColumns(columns: ColumnUse[]): ColumnUse[] {
  let characters = 0;
  const end = columns.findIndex(({ dataset, field, toDataset, toField = '' }) => {
    characters += dataset.length + field.length + toDataset.length + toField.length;
    return characters > columnCharacters;
  });
  return end < 0 ? columns : columns.slice(0, end);
}
