/** The job that puts the latest successful run of each pipeline into the graph. One server at a time does it. */
import { type Database, statement, typed } from '../../kernel/database/database.ts';
import type { Log } from '../../kernel/log.ts';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { runExclusively } from '../../kernel/retention/retention.ts';
import { type LineageRow, markDone, replaceLineage, selectNew } from './graph-update.store.ts';
import { describeLineage } from './pipeline-lineage.ts';

/** Each may have a megabyte of lineage. */
const recordsOfRound = 20;
const everyMilliseconds = 1_000;

export interface GraphServices {
  database: Database;
  log: Log;
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
