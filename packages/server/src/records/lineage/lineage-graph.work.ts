/** Puts successful runs into the graph: the latest one of each pipeline counts. */
import { addSeconds, type Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database/database.ts';
import { recordEvents } from '../../kernel/database/events.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import type { Log } from '../../kernel/log.ts';
import { createPlaces } from '../../kernel/work/places.ts';
import { type HeldWork, releaseWork } from '../../kernel/work/server-work.ts';
import type { ServerWorkKind } from '../../kernel/work/server-worker.ts';
import { finishRecords, readRecord, replaceLineage } from './graph-update.store.ts';
import { describeLineage } from './pipeline-lineage.ts';
import { graphKind } from './recording.store.ts';

/** Each may have a megabyte of lineage. */
const [mostAtOnce, mostOfAccount] = [8, 4];
/** After each failed attempt but the last one: about an hour in all. */
const pauses = [10, 60, 600, 3_600];

export interface GraphServices {
  database: Database;
  clock: Clock;
  newId: NewId;
  log: Log;
}

export function createGraphWork(services: GraphServices): ServerWorkKind {
  const { database, clock, log } = services;
  return {
    kind: graphKind,
    name: 'lineage graph',
    lookMilliseconds: 1_000,
    leaseSeconds: 30,
    places: createPlaces(mostAtOnce, mostOfAccount),
    async run(held) {
      const row = await readRecord(database.read, held, { isAlone: held.attempts > 1 });
      const lineage = row && describeLineage(row.record);
      await database.transaction(async (tx) => {
        if (row && lineage) await replaceLineage(tx, row, lineage);
        await finishRecords(tx, held, row?.work_ids);
      });
    },
    async fail(held, failure) {
      const { account_id: accountId, work_id: workId, attempts } = held;
      const now = clock.now();
      const pause = pauses[attempts - 1];
      log.warn(
        { err: failure, accountId, workId, attempts },
        'the lineage of a run could not be added to the graph',
      );
      if (pause === undefined) return giveUp(services, held);
      await releaseWork(database.read, held, { outcome: 'failed', dueAt: addSeconds(now, pause), now });
    },
    setAside: (held) => giveUp(services, held),
  };
}

/** The event of the run is kept; only the graph lacks it. */
async function giveUp({ database, clock, newId }: GraphServices, held: HeldWork): Promise<void> {
  const { account_id: accountId, attempts } = held;
  const source = { accountId, actorId: null, actorKind: 'system', requestId: null } as const;
  await database.transaction(async (tx) => {
    const row = await readRecord(tx.query, held, { isAlone: true });
    await finishRecords(tx, held);
    if (row === undefined) return;
    const { record } = row;
    const { runId, pipelineName, projectId, environmentName, executionId } = record;
    const problem = `The lineage of the run was not added to the graph, after ${attempts} attempts. The operator finds the cause in the log of the servers; the next successful run of the pipeline is added again.`;
    const event = {
      name: 'lineage-graph-failed',
      ...{ projectId, environmentName },
      subject: { type: 'pipeline-run', id: runId, name: pipelineName },
      after: { pipelineExecutionId: executionId, attempts, problem },
    } as const;
    recordEvents(tx, source, [event], clock.now(), newId);
  });
}
