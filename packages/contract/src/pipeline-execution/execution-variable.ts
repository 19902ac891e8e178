/** The variables with which the pipelines of an execution started. */
import { Type } from 'typebox';
import { RunVariable } from '../agent-protocol/run-variables.ts';
import { operation } from '../operation.ts';
import { pageOf, pageQuery } from '../primitives.ts';
import { executionPath } from './pipeline-execution.ts';

export const listPipelineExecutionVariables = operation({
  id: 'listPipelineExecutionVariables',
  method: 'GET',
  path: '/v1/projects/{projectId}/pipeline-executions/{pipelineExecutionId}/variables',
  surface: 'dpc',
  tag: 'Pipeline executions',
  summary: 'List variables of an execution',
  description:
    'The value of each variable when the pipeline started, and where the value came from. By name; of more than 2,000 variables the first 2,000. Also accepts the `id` of a `childPipeline`. ' +
    'The list is empty until an agent has started the pipeline. It stays empty for child pipelines of a run that has recorded 10 MB of values.',
  permission: 'executions:read',
  environmentFrom: 'resource',
  params: Type.Object(executionPath),
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(RunVariable) },
  problems: ['execution-not-found'],
  events: [],
});

export const executionVariableOperations = [listPipelineExecutionVariables] as const;
