/** What the tests over all operations need from this slice. */
import type { SliceGuards } from '../../testing/slice-guards.ts';
import { executionExamples } from './execution.examples.ts';

export const executionGuards: SliceGuards = {
  examples: executionExamples,
  permissions: {
    'read executions, steps and logs of an environment': [
      'getPipelineExecution',
      'getPipelineExecutionStatus',
      'listPipelineExecutionSteps',
      'listPipelineExecutionVariables',
      'listPipelineExecutionLogs',
      'streamPipelineExecutionLogs',
    ],
    'start and stop executions in an environment': [
      'startPipelineExecution',
      'restartPipelineExecution',
      'cancelPipelineExecution',
    ],
    'lists of what the caller may read': ['listPipelineExecutions'],
  },
  uniqueNames: {
    startPipelineExecution: ({ account, project, agent }, executionTag) =>
      account.admin.post(`${project.path}/pipeline-executions`, {
        pipelineName: 'main',
        environmentName: 'dev',
        agentId: agent.agentId,
        executionTag,
      }),
  },
};
