import type { Slice } from '../../kernel/slice/slice.ts';
import { createWorkerJob, type WorkerServices } from '../../kernel/work/server-worker.ts';
import { type LineageServices, lineageRoutes } from './lineage.routes.ts';
import { lineageRetention } from './lineage-event.store.ts';
import { createGraphWork, type GraphServices } from './lineage-graph.work.ts';

export type { LineageRecord } from './lineage-record.ts';
export {
  recordCalledRuns,
  recordEndedExecutions,
  recordStartedExecutions,
  writeStepLineage,
} from './recording.store.ts';
export { renderOtherEvent, renderRunEvent } from './run-event.ts';

interface Needs extends GraphServices, LineageServices, WorkerServices {
  config: LineageServices['config'] & { retention: { eventDays: number | undefined } };
}

export const lineage: Slice<Needs> = {
  name: 'lineage',
  routes: lineageRoutes,
  retention: ({ config }) => [lineageRetention(config.retention.eventDays)],
  periodic: (services) => [createWorkerJob(services, createGraphWork(services))],
};
