/** Runs a pipeline in the scratch database of a test (docs/adr/0046, 0121). */
import type { OrchestrationDefinition } from './definition/component.ts';
import { textParameter } from './definition/declared-parameters.ts';
import { callParameters, readCallArguments } from './run-pipeline.ts';

export const runPipelineUnderTest: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  about:
    'Runs the pipeline that a test is about. An orchestration with this component is a test: all that it and the pipelines it runs write lands in a scratch database, or in a schema of its own in [other warehouses](../../testing.md#tests-in-postgresql-redshift-and-snowflake), which is dropped at its end. Assert components after it see what the pipeline wrote.',
  group: 'tests',
  parameters: {
    pipelineName: textParameter('The pipeline’s name, with or without its extension.', { required: true }),
    ...callParameters,
  },
  example: `type: run-pipeline-under-test
parameters:
  pipelineName: sales/Load orders
  setScalarVariables:
    - [least, "10"]`,
  plan: ({ parameters }) => ({
    action: 'run-pipeline-under-test',
    pipelineName: parameters.text('pipelineName'),
    ...readCallArguments(parameters),
  }),
};
