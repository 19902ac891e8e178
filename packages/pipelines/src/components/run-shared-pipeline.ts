/** run-shared-pipeline: calls a pipeline that the account's projects share (docs/adr/0019). */
import { readSharedPipelineUse } from '../shared-pipeline-use.ts';
import type { OrchestrationDefinition } from './component.ts';
import { textParameter } from './declared-parameters.ts';
import { callParameters, readCallArguments } from './run-pipeline.ts';

export const runSharedPipeline: OrchestrationDefinition = {
  kind: 'orchestration',
  about: 'Runs a pipeline that the account’s projects share.',
  group: 'flow',
  parameters: {
    sharedPipelineIdPrefix: textParameter('The prefix of the shared pipelines.', {
      required: true,
      raw: true,
    }),
    sharedPipeline: textParameter('The pipeline’s name.', { required: true }),
    versionName: textParameter('The version. Empty or `[Latest]`: the latest enabled one.', { raw: true }),
    ...callParameters,
  },
  example: `type: run-shared-pipeline
parameters:
  sharedPipelineIdPrefix: common
  sharedPipeline: tools/Clean up`,
  plan: ({ parameters, component }) => ({
    action: 'run-shared-pipeline',
    use: readSharedPipelineUse(component.parameters),
    pipelineName: parameters.text('sharedPipeline'),
    ...readCallArguments(parameters),
  }),
};
