/** run-orchestration and run-transformation: call another pipeline of the project. */
import { ParameterError, type Parameters, readCellText } from '../parameters.ts';
import type { PipelineType } from '../pipeline.ts';
import type { Resolved, ResolvedMap } from '../resolve.ts';
import type { CallArguments, OrchestrationDefinition } from './component.ts';
import { mapParameter, rowsParameter, textParameter } from './declared-parameters.ts';

/** The parameters of a call. */
export const callParameters = {
  setScalarVariables: rowsParameter('Values for its scalar variables.', ['variable', 'value']),
  setGridVariables: mapParameter(
    'Values for its grid variables: maps with `variable`, `status` (grid or values) and `gridValues`.',
  ),
};

function createRunPipeline(pipelineType: PipelineType, nameParameter: string): OrchestrationDefinition {
  return {
    kind: 'orchestration',
    about: `Runs ${pipelineType === 'orchestration' ? 'an orchestration' : 'a transformation'} of the same version.`,
    group: 'flow',
    parameters: {
      [nameParameter]: textParameter('The pipeline’s name, with or without its extension.', {
        required: true,
      }),
      ...callParameters,
    },
    noEffect: ['transformationPipelineLink', 'orchestrationPipelineLink'],
    example: `type: run-${pipelineType}
parameters:
  ${nameParameter}: sales/Totals
  setScalarVariables:
    - [least, "10"]`,
    plan: ({ parameters }) => ({
      action: 'run-pipeline',
      pipelineType,
      pipelineName: parameters.text(nameParameter),
      ...readCallArguments(parameters),
    }),
  };
}

/** The values that a call sets in the called pipeline. @throws ParameterError */
export function readCallArguments(parameters: Parameters): CallArguments {
  const scalars = parameters.rows('setScalarVariables', 2);
  return {
    scalars: scalars.map((row) => [readCellText(row, 0), row[1] ?? null] as const),
    grids: readGridArguments(parameters),
  };
}

function readGridArguments(parameters: Parameters): (readonly [string, Resolved])[] {
  return parameters.rows('setGridVariables', 1).map(([argument]) => {
    const { variable, status, gridValues } = (
      typeof argument === 'object' && argument !== null ? argument : {}
    ) as ResolvedMap;
    if (
      typeof variable !== 'string' ||
      !['grid', 'values'].includes(String(status)) ||
      !Array.isArray(gridValues)
    ) {
      throw new ParameterError(
        'a row of "setGridVariables" needs "variable", "status" (grid or values) and "gridValues" (a list)',
      );
    }
    return [variable, gridValues] as const;
  });
}

export const runOrchestration = createRunPipeline('orchestration', 'orchestrationJob');
export const runTransformation = createRunPipeline('transformation', 'transformationJob');
