export { executionRetention, executionsUse } from './execution.retention.ts';
export { executionRoutes } from './execution.routes.ts';
export { executionWork } from './execution.work.ts';
export { writeSteps } from './execution-step.store.ts';
export { announcesOnce, type RunOwners, readRunOwners } from './run-owner.store.ts';
export { readStepTotals, type StepTotals } from './step-total.store.ts';
