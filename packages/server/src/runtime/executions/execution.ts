/** The states of a pipeline execution (interface.md, States) and the rules of starting one. */
import type { ExecutionStatus, VariableType } from '@headgate/contract';
import type { PipelineDescription } from '../../delivery/artifacts/index.ts';
import { machine } from '../../kernel/machine.ts';
import { problem } from '../../kernel/problems.ts';

export const executionStates = machine<ExecutionStatus>({
  RUNNING: ['SUCCESS', 'FAILED', 'CANCELLING', 'CANCELLED', 'FORBIDDEN', 'SKIPPED', 'UNKNOWN'],
  CANCELLING: ['SUCCESS', 'FAILED', 'CANCELLED', 'UNKNOWN'],
  UNKNOWN: ['RUNNING', 'CANCELLING', 'SUCCESS', 'FAILED', 'CANCELLED'],
  SUCCESS: [],
  FAILED: [],
  CANCELLED: [],
  FORBIDDEN: [],
  SKIPPED: [],
});

/** A pipeline's name is read with or without its extension. Throws `pipeline-not-found`. */
export function findPipeline(
  pipelines: readonly PipelineDescription[],
  named: string,
  versionName: string,
): PipelineDescription {
  const name = named.replace(/^\//, '').replace(/\.(orch|tran)\.yaml$/, '');
  const wanted = named.endsWith('.tran.yaml')
    ? 'TRANSFORMATION'
    : named.endsWith('.orch.yaml')
      ? 'ORCHESTRATION'
      : undefined;
  const found = pipelines.filter(
    (each) => each.name === name && (wanted === undefined || each.type === wanted),
  );
  const pipeline = found.find((each) => each.type === 'ORCHESTRATION') ?? found[0];
  if (pipeline === undefined) throw problem('pipeline-not-found', { name: named, versionName });
  return pipeline;
}

type Given = Readonly<Record<string, unknown>> | undefined;
type KnownVariables = ReadonlyMap<string, VariableType>;

/** Values may be given to the public variables of the pipeline and to the project's. Throws `unknown-pipeline-variable` and `pipeline-variable-type`. */
export function requireVariables(
  scalars: Given,
  grids: Given,
  pipeline: PipelineDescription,
  project: KnownVariables,
): void {
  const typeOf = (name: string): VariableType | undefined => {
    const declared = pipeline.variables.find((variable) => variable.name === name);
    if (declared !== undefined) return declared.visibility === 'PUBLIC' ? declared.type : undefined;
    return project.get(name);
  };
  function require(field: string, name: string, fits: (type: VariableType) => boolean): void {
    const type = typeOf(name);
    if (type === undefined) throw problem('unknown-pipeline-variable', { field, name });
    if (!fits(type)) throw problem('pipeline-variable-type', { field, name, type });
  }
  for (const [name, value] of Object.entries(scalars ?? {})) {
    const isNumber =
      typeof value === 'number' ||
      (typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value)));
    require('body.scalarVariables', name, (type) => type === 'TEXT' || (type === 'NUMBER' && isNumber));
  }
  for (const name of Object.keys(grids ?? {})) {
    require('body.gridVariables', name, (type) => type === 'GRID');
  }
}
