/** Restarts an execution that failed or was cancelled from the step at which it ended. */
import { Type } from 'typebox';
import { operation } from '../operation.ts';
import { Name, Uuid } from '../primitives.ts';
import { executionPath } from './pipeline-execution.ts';

/** The value of `from` for the steps that failed or did not end. */
export const fromFailed = 'FAILED';

/** Members of a start. */
const ignoredMembers = {
  pipelineName: 'a restart runs the same pipeline',
  environmentName: 'a restart stays in its environment',
  versionName: 'a restart runs the same version',
  agentId: 'a restart uses the same agent',
  executionTag: 'a restart keeps the tag',
  scalarVariables: 'variables keep the values that they had',
  gridVariables: 'variables keep the values that they had',
};

export const restartPipelineExecution = operation({
  id: 'restartPipelineExecution',
  method: 'POST',
  path: '/v1/projects/{projectId}/pipeline-executions/{pipelineExecutionId}/restart',
  surface: 'dpc',
  tag: 'Pipeline executions',
  summary: 'Restart an execution',
  description:
    'Starts another execution with the same version, environment, agent, tag and variables, which continues where a FAILED or CANCELLED one ended. Steps that ended before that place are not run again; variables have the values that they had there. ' +
    'If a step that runs again may have had an effect, such as SQL that writes or a script, the request is refused: 409 `restart-repeats-effects` names each one. Send their names as `acceptEffects` to run them again. ' +
    'Other members of a start, such as `scalarVariables` and `versionName`, are ignored, and named in the header `Headgate-Warning`.',
  permission: 'environment:run',
  environmentFrom: 'resource',
  params: Type.Object(executionPath),
  ignoredMembers,
  body: Type.Object({
    from: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        default: fromFailed,
        'x-form': 'FAILED, or the name of a component',
        description:
          'FAILED: the steps that failed or did not end. Or the name of a component of the started pipeline: the execution continues from the moment when it began',
      }),
    ),
    acceptEffects: Type.Optional(
      Type.Array(Name, {
        maxItems: 1_000,
        description:
          'Components that may run again although they may have had an effect. Names of others change nothing',
      }),
    ),
  }),
  success: {
    status: 201,
    body: Type.Object({ pipelineExecutionId: Uuid, restartOf: Uuid }),
    headers: ['Location'],
  },
  problems: [
    'execution-not-found',
    'execution-not-restartable',
    'restart-repeats-effects',
    'unknown-restart-component',
    'artifact-not-found',
    'artifact-disabled',
    'execution-tag-running',
    'queue-full',
    'budget-exceeded',
    'unknown-agent',
  ],
  events: ['pipeline-execution-requested'],
});

export const executionRestartOperations = [restartPipelineExecution] as const;
