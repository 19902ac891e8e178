/** What the tests over all operations need from this slice. */
import { createFailedExecution } from '../../../testing/executions.ts';
import type { Place } from '../../../testing/place.ts';
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { executionExamples } from './execution.examples.ts';

const failed = new Map<string, Promise<string>>();

/** All requests for one name restart the same execution, which is possible once. */
function findFailed(place: Place, name: string): Promise<string> {
  const key = `${place.project.projectId} ${name}`;
  const found = failed.get(key) ?? createFailedExecution(place);
  failed.set(key, found);
  return found;
}

export const executionGuards: SliceGuards = {
  examples: executionExamples,
  uniqueNames: {
    startPipelineExecution: ({ account, project, agent }, executionTag) =>
      account.admin.post(`${project.path}/pipeline-executions`, {
        pipelineName: 'main',
        environmentName: 'dev',
        agentId: agent.agentId,
        executionTag,
      }),
    restartPipelineExecution: async (place, name) =>
      place.account.admin.post(`${await findFailed(place, name)}/restart`, {
        from: 'FAILED',
        acceptEffects: ['Load orders'],
      }),
  },
};
