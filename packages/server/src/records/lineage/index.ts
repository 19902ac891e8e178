import type { Slice } from '../../kernel/slice/slice.ts';
import { createGraphJob, type GraphServices } from './graph-update.ts';
import { type LineageServices, lineageRoutes } from './lineage.routes.ts';
import { lineageRetention } from './lineage-event.store.ts';

export type { LineageRecord } from './lineage-record.ts';
export {
  recordCalledRuns,
  recordEndedExecutions,
  recordStartedExecutions,
  writeStepLineage,
} from './recording.store.ts';
export { renderOtherEvent, renderRunEvent } from './run-event.ts';

interface Needs extends GraphServices, LineageServices {
  config: LineageServices['config'] & { retention: { eventDays: number | undefined } };
}

export const lineage: Slice<Needs> = {
  name: 'lineage',
  routes: lineageRoutes,
  retention: ({ config }) => [lineageRetention(config.retention.eventDays)],
  periodic: (services) => [createGraphJob(services)],
};
