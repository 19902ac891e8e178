/** A successful request for each operation on test executions. */
import type { Examples } from '../../../testing/place.ts';
import {
  createEndedTestExecution,
  createTestExecution,
  publishTests,
} from '../../../testing/tested-project.ts';

export const testExecutionExamples: Examples = {
  async startTestExecution(place) {
    const versionName = await publishTests(place);
    return {
      path: `${place.project.path}/test-executions`,
      body: {
        scope: 'TEST',
        environmentName: 'dev',
        versionName,
        agentId: place.agent.agentId,
        tests: [{ testName: 'tests/main counts' }],
      },
    };
  },
  getTestExecution: async (place) => ({ path: await createEndedTestExecution(place) }),
  cancelTestExecution: async (place) => ({
    path: await createTestExecution(place),
    body: { status: 'CANCELLED', forceUpdate: false },
  }),
};
