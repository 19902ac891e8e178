/** The job that puts the latest successful run of each pipeline into the graph. One server at a time does it. */
import { createHash } from 'node:crypto';
import type { DatasetField } from '@headgate/contract';
import { type Database, statement, typed } from '../../kernel/database/database.ts';
import type { Log } from '../../kernel/log.ts';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { runExclusively } from '../../kernel/retention/retention.ts';
import { type LineageRow, markDone, replaceLineage, selectNew } from './graph-update.store.ts';
import { getDatasetKey, type LineageRecord, mergeSteps } from './lineage-record.ts';

/** Each may have a megabyte of lineage. */
const recordsOfRound = 20;
const everyMilliseconds = 1_000;

export interface GraphServices {
  database: Database;
  log: Log;
}

export interface DatasetUse {
  dataset: string;
  isWrite: boolean;
  fields?: readonly DatasetField[];
  rowCount?: number;
}

export interface ColumnUse {
  dataset: string;
  field: string;
  toDataset: string;
  toField?: string;
  transformation?: string;
}

export interface PipelineLineage {
  datasets: DatasetUse[];
  columns: ColumnUse[];
  /** Of both, without numbers of rows: most runs of a pipeline read and write the same. */
  digest: string;
}

const isAnyNew = statement(
  { parameters: {}, row: { found: typed<true>('boolean') } },
  'select true as found from lineage_event where is_new order by sequence limit 1',
);

export function createGraphJob(services: GraphServices): PeriodicJob {
  const { database, log } = services;
  return {
    name: 'lineage graph',
    everyMilliseconds,
    async run(rest) {
      if ((await database.read(isAnyNew, {})).length === 0) return false;
      const isMore = await runExclusively(database, 'lineage graph', rest, async () => {
        const rows = await selectNew(database.read, recordsOfRound);
        for (const row of rows) await addToGraph(row);
        return rows.length === recordsOfRound;
      });
      return isMore === true;
    },
  };

  async function addToGraph(row: LineageRow): Promise<void> {
    const lineage = describeLineage(row.record);
    try {
      await database.transaction((tx) => replaceLineage(tx, row, lineage));
    } catch (failure) {
      // The event is kept. If the database is at fault, this fails too, and the next round tries again.
      await database.transaction((tx) => markDone(tx, row));
      const { runId } = row.record;
      log.warn({ err: failure, runId }, 'the lineage of a run could not be added to the graph');
    }
  }
}

/** What a run leaves behind; datasets that it dropped itself are only on the ways of columns. */
export function describeLineage({ steps }: LineageRecord): PipelineLineage {
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
  }));
  const datasets: DatasetUse[] = [...reads, ...writes].filter(({ dataset }) => !dropped.has(dataset));
  const columns = outputs.flatMap((output): ColumnUse[] => {
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
  const shape = JSON.stringify([datasets.map(({ rowCount, ...use }) => use), columns]);
  return { datasets, columns, digest: createHash('sha256').update(shape).digest('hex') };
}
