import type { ManifestUser } from '../../delivery/blobs/index.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { createExecutionRetention, executionsUse, type KeptDays } from './execution.retention.ts';
import { type ExecutionServices, executionRoutes } from './execution.routes.ts';
import { createExecutionOwner } from './execution.work.ts';

export {
  createPlaceParameters,
  requireAgent,
  requireVersion,
  whatStartNeeds,
} from './execution.start.ts';
export { executionStates } from './execution.ts';
export { writeSteps } from './execution-step.store.ts';
export { selectVariablesOfPlaces } from './place-variables.ts';
export { announcesOnce, type RunOwners, readRunOwners } from './run-owner.store.ts';
export { readStepTotals, type StepTotals } from './step-total.store.ts';

export const executions: Slice<ExecutionServices & { config: { retention: KeptDays } }> & ManifestUser = {
  name: 'executions',
  routes: executionRoutes,
  workKinds: { 'pipeline-execution': createExecutionOwner },
  retention: ({ config }) => createExecutionRetention(config.retention),
  manifestUses: [executionsUse],
};
