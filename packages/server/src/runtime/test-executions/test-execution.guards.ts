/** What the tests over all operations need from this slice. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { publishTests } from '../../../testing/tested-project.ts';
import { testExecutionExamples } from './test-execution.examples.ts';

export const testExecutionGuards: SliceGuards = {
  examples: testExecutionExamples,
  uniqueNames: {
    async startTestExecution(place, executionTag) {
      const { account, project, agent } = place;
      const versionName = await publishTests(place);
      return account.admin.post(`${project.path}/test-executions`, {
        scope: 'PROJECT',
        environmentName: 'dev',
        versionName,
        agentId: agent.agentId,
        executionTag,
      });
    },
  },
};
