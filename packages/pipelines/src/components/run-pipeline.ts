/** run-orchestration and run-transformation: call another pipeline of the project. */
import { ParameterError, type Parameters, readCellText } from '../expressions/parameters.ts';
import type { Resolved, ResolvedMap } from '../expressions/resolve.ts';
import type { PipelineType, Plain, PlainMap } from '../format/pipeline.ts';
import type { CallArguments, OrchestrationDefinition } from './definition/component.ts';
import { mapParameter, rowsParameter, textParameter } from './definition/declared-parameters.ts';

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
      [nameParameter]: textParameter(
        `The pipeline’s name, with or without its extension. Required, unless \`${pipelineType}PipelineLink\` names it.`,
      ),
      [`${pipelineType}PipelineLink`]: mapParameter('Another way to name it: a map with `pipelineName`.'),
      ...callParameters,
    },
    example: `type: run-${pipelineType}
parameters:
  ${nameParameter}: sales/Totals
  setScalarVariables:
    - [least, "10"]`,
    plan: ({ parameters }) => ({
      action: 'run-pipeline',
      pipelineType,
      pipelineName: readCalledName(parameters, nameParameter),
      ...readCallArguments(parameters),
    }),
  };
}

/** The name of the called pipeline as it is written. The link counts only without the name itself. */
export function findCalledName(values: PlainMap, nameParameter: string): Plain | undefined {
  const name = values[nameParameter];
  return name === undefined || name === null || name === ''
    ? findLinkedName(values[getLinkParameter(nameParameter)])
    : name;
}

const getLinkParameter = (nameParameter: string) => nameParameter.replace(/Job$/, 'PipelineLink');

function findLinkedName<T extends Plain | Resolved>(link: T | undefined): Plain | undefined {
  if (typeof link !== 'object' || link === null || Array.isArray(link)) return undefined;
  const { pipelineName } = link as PlainMap;
  return typeof pipelineName === 'string' && pipelineName !== '' ? pipelineName : undefined;
}

function readCalledName(parameters: Parameters, nameParameter: string): string {
  const linked = findLinkedName(parameters.value(getLinkParameter(nameParameter)));
  if (parameters.optionalText(nameParameter) === undefined && typeof linked === 'string') return linked;
  return parameters.text(nameParameter);
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
