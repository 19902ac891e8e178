import type { ManifestUser } from '../../delivery/blobs/index.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { executionRetention, executionsUse, type KeptDays } from './execution.retention.ts';
import { type ExecutionServices, executionRoutes } from './execution.routes.ts';
import { executionWork } from './execution.work.ts';

export { writeSteps } from './execution-step.store.ts';
export { announcesOnce, type RunOwners, readRunOwners } from './run-owner.store.ts';
export { readStepTotals, type StepTotals } from './step-total.store.ts';

export const executions: Slice<ExecutionServices & { config: { retention: KeptDays } }> & ManifestUser = {
  name: 'executions',
  routes: executionRoutes,
  workKinds: { 'pipeline-execution': executionWork },
  retention: ({ config }) => executionRetention(config.retention),
  manifestUses: [executionsUse],
};
