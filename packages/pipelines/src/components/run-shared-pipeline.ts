/** run-shared-pipeline: call a pipeline that projects of the account share, with values for its variables (docs/adr/0019). */
import { sharedPipelineUse } from '../shared-pipeline-use.ts';
import type { OrchestrationDefinition } from './component.ts';
import { callArguments } from './run-pipeline.ts';

export const runSharedPipeline: OrchestrationDefinition = {
  kind: 'orchestration',
  required: ['sharedPipelineIdPrefix', 'sharedPipeline'],
  optional: ['versionName', 'setScalarVariables', 'setGridVariables'],
  raw: ['sharedPipelineIdPrefix', 'versionName'],
  plan: ({ parameters, component }) => ({
    action: 'run-shared-pipeline',
    use: sharedPipelineUse(component.parameters),
    pipelineName: parameters.text('sharedPipeline'),
    ...callArguments(parameters),
  }),
};
