import type { ManifestUser } from '../../delivery/blobs/index.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { createExecutionRetention, executionsUse, type KeptDays } from './execution.retention.ts';
import { type ExecutionServices, executionRoutes } from './execution.routes.ts';
import { createExecutionOwner } from './execution.work.ts';
import { executionRestartRoutes } from './execution-restart.routes.ts';
import type { LogStreamServices } from './log-stream.ts';
import { runRecordRoutes } from './run-record.routes.ts';

export {
  createPlaceParameters,
  requireAgent,
  requireVersion,
  whatStartNeeds,
} from './execution.start.ts';
export { cancelRunsOfBackfill } from './execution-cancel.ts';
export { getLogKey } from './log-stream.ts';
export { buildRunEvent, insertRuns, type NewRun } from './new-runs.ts';
export { selectVariablesOfPlaces } from './place-variables.ts';
export { listRunMembers } from './run-payload.ts';
export { type FoundStart, findStarts, type WantedStart } from './start-places.ts';
export { executionStates } from './store/execution.ts';
export { writeSteps } from './store/execution-step.store.ts';
export { announcesOnce, type RunOwners, readRunOwners } from './store/run-owner.store.ts';
export { writeRunRecords } from './store/run-record.store.ts';
export { readStepTotals, type StepTotals } from './store/step-total.store.ts';

export const executions: Slice<ExecutionServices & LogStreamServices & { config: { retention: KeptDays } }> &
  ManifestUser = {
  name: 'executions',
  routes(endpoints, services) {
    executionRoutes(endpoints, services);
    executionRestartRoutes(endpoints, services, services.config.retention);
    runRecordRoutes(endpoints, services);
  },
  workKinds: { 'pipeline-execution': createExecutionOwner },
  retention: ({ config }) => createExecutionRetention(config.retention),
  manifestUses: [executionsUse],
};
