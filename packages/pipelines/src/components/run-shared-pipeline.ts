/** run-shared-pipeline: calls a pipeline that the account's projects share (docs/adr/0019). */
import { readSharedPipelineUse } from '../shared-pipeline-use.ts';
import type { OrchestrationDefinition } from './component.ts';
import { readCallArguments } from './run-pipeline.ts';

export const runSharedPipeline: OrchestrationDefinition = {
  kind: 'orchestration',
  required: ['sharedPipelineIdPrefix', 'sharedPipeline'],
  optional: ['versionName', 'setScalarVariables', 'setGridVariables'],
  raw: ['sharedPipelineIdPrefix', 'versionName'],
  plan: ({ parameters, component }) => ({
    action: 'run-shared-pipeline',
    use: readSharedPipelineUse(component.parameters),
    pipelineName: parameters.text('sharedPipeline'),
    ...readCallArguments(parameters),
  }),
};
