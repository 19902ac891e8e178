/** run-shared-pipeline: calls a pipeline that the account's projects share (docs/adr/0019). */
import type { Parameters } from '../expressions/parameters.ts';
import type { CallArguments, OrchestrationDefinition } from './definition/component.ts';
import { textParameter } from './definition/declared-parameters.ts';
import {
  isSharedPipelineUse,
  readSharedPipelineName,
  readSharedPipelineUse,
} from './definition/shared-pipeline-use.ts';
import { callParameters, readCallArguments } from './run-pipeline.ts';

export const runSharedPipeline: OrchestrationDefinition = {
  kind: 'orchestration',
  about: 'Runs a pipeline that the account’s projects share.',
  group: 'flow',
  parameters: {
    sharedPipelineIdPrefix: textParameter('The prefix of the shared pipelines.', { raw: true }),
    sharedPipeline: textParameter('The pipeline’s name.'),
    pipelineName: textParameter(
      'The prefix and the name in one, such as `common#tools/Clean up`, instead of the two above.',
    ),
    versionName: textParameter('The version. Empty or `[Latest]`: the latest enabled one.', {
      raw: true,
      otherNames: ['version'],
    }),
    ...callParameters,
  },
  example: `type: run-shared-pipeline
parameters:
  sharedPipelineIdPrefix: common
  sharedPipeline: tools/Clean up`,
  plan: ({ parameters, component }) => ({
    action: 'run-shared-pipeline',
    use: readSharedPipelineUse(component.parameters),
    ...readCall(parameters),
  }),
  check({ parameters, component }) {
    // A malformed use has a finding of its own.
    if (isSharedPipelineUse(component.parameters)) readCall(parameters);
  },
};

function readCall(parameters: Parameters): CallArguments & { pipelineName: string } {
  const name = parameters.optionalText('sharedPipeline');
  const joined = parameters.optionalText('pipelineName');
  return { pipelineName: readSharedPipelineName(name, joined), ...readCallArguments(parameters) };
}
