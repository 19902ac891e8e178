/** run-orchestration and run-transformation: call another pipeline of the project with values for its variables. */
import { cellText, ParameterError, type Parameters } from '../parameters.ts';
import type { PipelineType } from '../pipeline.ts';
import type { Resolved, ResolvedMap } from '../resolve.ts';
import type { CallArguments, OrchestrationDefinition } from './component.ts';

function runPipelineComponent(pipelineType: PipelineType, nameParameter: string): OrchestrationDefinition {
  return {
    kind: 'orchestration',
    required: [nameParameter],
    optional: ['setScalarVariables', 'setGridVariables'],
    plan: ({ parameters }) => ({
      action: 'run-pipeline',
      pipelineType,
      pipelineName: parameters.text(nameParameter),
      ...callArguments(parameters),
    }),
  };
}

/** The values that a call gives to variables of the called pipeline. @throws ParameterError */
export function callArguments(parameters: Parameters): CallArguments {
  const scalars = parameters.rows('setScalarVariables', 2);
  return {
    scalars: scalars.map((row) => [cellText(row, 0), row[1] ?? null] as const),
    grids: gridArguments(parameters),
  };
}

function gridArguments(parameters: Parameters): (readonly [string, Resolved])[] {
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
        'a row of "setGridVariables" needs variable, status (grid or values) and gridValues',
      );
    }
    return [variable, gridValues] as const;
  });
}

export const runOrchestration = runPipelineComponent('orchestration', 'orchestrationJob');
export const runTransformation = runPipelineComponent('transformation', 'transformationJob');
