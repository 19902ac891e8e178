import type { ManifestUser } from '../../delivery/blobs/index.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { createTestExecutionRetention, testExecutionsUse } from './test-execution.retention.ts';
import { type TestExecutionServices, testExecutionRoutes } from './test-execution.routes.ts';
import { createTestExecutionOwner } from './test-execution.work.ts';

export const testExecutions: Slice<
  TestExecutionServices & { config: { retention: { executionDays: number | undefined } } }
> &
  ManifestUser = {
  name: 'test-executions',
  routes: testExecutionRoutes,
  workKinds: { 'test-execution': createTestExecutionOwner },
  retention: ({ config }) => createTestExecutionRetention(config.retention),
  manifestUses: [testExecutionsUse],
};
