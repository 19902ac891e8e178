/** A successful request for each operation on executions. */
import { endedExecutionOf, executionOf } from '../../testing/executions.ts';
import type { Examples } from '../../testing/place.ts';

export const executionExamples: Examples = {
  startPipelineExecution: ({ project, agent }) => ({
    path: `${project.path}/pipeline-executions`,
    body: {
      pipelineName: 'main',
      environmentName: 'dev',
      agentId: agent.agentId,
      scalarVariables: { city: 'Bodø' },
    },
  }),
  async listPipelineExecutions(place) {
    await executionOf(place);
    return { path: '/pipeline-executions?environmentName=dev&limit=10' };
  },
  getPipelineExecution: async (place) => ({ path: await endedExecutionOf(place) }),
  getPipelineExecutionStatus: async (place) => ({ path: `${await executionOf(place)}/status` }),
  listPipelineExecutionSteps: async (place) => ({ path: `${await endedExecutionOf(place)}/steps` }),
  cancelPipelineExecution: async (place) => ({
    path: await executionOf(place),
    body: { status: 'CANCELLED', forceUpdate: false },
  }),
};
