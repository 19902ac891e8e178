/** A successful request for each operation on executions. */
import { createEndedExecution, createExecution, createFailedExecution } from '../../../testing/executions.ts';
import type { Examples } from '../../../testing/place.ts';

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
    await createExecution(place);
    return { path: '/pipeline-executions?environmentName=dev&limit=10' };
  },
  getPipelineExecution: async (place) => ({ path: await createEndedExecution(place) }),
  getPipelineExecutionStatus: async (place) => ({ path: `${await createExecution(place)}/status` }),
  listPipelineExecutionSteps: async (place) => ({ path: `${await createEndedExecution(place)}/steps` }),
  listPipelineExecutionVariables: async (place) => ({
    path: `${await createEndedExecution(place)}/variables`,
  }),
  listPipelineExecutionLogs: async (place) => ({ path: `${await createEndedExecution(place)}/logs` }),
  streamPipelineExecutionLogs: async (place) => ({
    path: `${await createEndedExecution(place)}/logs/stream`,
  }),
  restartPipelineExecution: async (place) => ({
    path: `${await createFailedExecution(place)}/restart`,
    body: { from: 'FAILED', acceptEffects: ['Load orders'] },
  }),
  cancelPipelineExecution: async (place) => ({
    path: await createExecution(place),
    body: { status: 'CANCELLED', forceUpdate: false },
  }),
};
