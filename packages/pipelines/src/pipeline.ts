/**
 * A pipeline as read from its file.
 *
 * - **orchestration** (`.orch.yaml`): components joined by transitions, walked from `start`.
 * - **transformation** (`.tran.yaml`): components joined by sources; one data flow that becomes SQL.
 * - **component**: one node of a pipeline; its map key is its name, its `type` says what it does.
 * - **name** of a pipeline: its path in the project without the extension.
 */

export type PipelineType = 'orchestration' | 'transformation';

/** A value of a file. Numbers keep the text that they were written as, so that `1.10` stays `1.10`. */
export type Plain = string | boolean | null | readonly Plain[] | PlainMap;
export interface PlainMap {
  readonly [name: string]: Plain;
}

export const transitionKinds = ['success', 'failure', 'unconditional', 'true', 'false'] as const;
export type TransitionKind = (typeof transitionKinds)[number];

export type VariableType = 'TEXT' | 'NUMBER' | 'GRID';
export type VariableBehaviour = 'SHARED' | 'COPIED';

export interface GridColumn {
  readonly name: string;
  readonly type: 'TEXT' | 'NUMBER';
}

export interface VariableDeclaration {
  readonly name: string;
  readonly type: VariableType;
  readonly behaviour: VariableBehaviour;
  /** PRIVATE: cannot be set by whoever starts the pipeline. */
  readonly visibility: 'PUBLIC' | 'PRIVATE';
  /** Of a GRID, in order. */
  readonly columns: readonly GridColumn[];
  readonly defaultValue: Plain;
}

interface ComponentFrame {
  readonly name: string;
  readonly type: string;
  readonly parameters: PlainMap;
  /** Members that the format does not know, and that are near to one that it does. */
  readonly misspelled?: readonly MisspelledMember[];
}

export interface MisspelledMember {
  readonly member: string;
  readonly meant: string;
  /** The member of the component that holds it; absent for one of the component itself. */
  readonly inside?: 'postProcessing';
}

export interface OrchestrationComponent extends ComponentFrame {
  readonly transitions: Readonly<Record<TransitionKind, readonly string[]>>;
  readonly skipped: boolean;
  /** The component that an iterator runs. */
  readonly iterationTarget?: string;
  /** `[variable, expression]`, carried out when the component has ended. */
  readonly updateScalarVariables: readonly (readonly [string, string])[];
}

export interface TransformationComponent extends ComponentFrame {
  readonly sources: readonly string[];
}

interface PipelineFrame {
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly variables: ReadonlyMap<string, VariableDeclaration>;
  /** The texts of the notes beside its components, from the beginning; '' without any. */
  readonly description: string;
}

export interface Orchestration extends PipelineFrame {
  readonly type: 'orchestration';
  readonly components: ReadonlyMap<string, OrchestrationComponent>;
}

export interface Transformation extends PipelineFrame {
  readonly type: 'transformation';
  readonly components: ReadonlyMap<string, TransformationComponent>;
}

export type Pipeline = Orchestration | Transformation;

export const pipelineExtensions = { orchestration: '.orch.yaml', transformation: '.tran.yaml' } as const;

/** The type that a path's extension says; undefined for a file that is no pipeline. */
export function pipelineTypeOf(path: string): PipelineType | undefined {
  if (path.endsWith(pipelineExtensions.orchestration)) return 'orchestration';
  if (path.endsWith(pipelineExtensions.transformation)) return 'transformation';
  return undefined;
}

/** A file whose name looks like that of a pipeline, but does not end as the format asks for. */
export function isMisnamedPipeline(path: string): boolean {
  return pipelineTypeOf(path) === undefined && /\.(?:orch|tran)\.ya?ml$/i.test(path);
}

/** The pipeline's name: its path without the extension; a name passes through unchanged. */
export function pipelineNameOf(path: string): string {
  const type = pipelineTypeOf(path);
  return type === undefined ? path : path.slice(0, -pipelineExtensions[type].length);
}

/** The path of the file of a pipeline that was named with or without its extension. */
export function pipelinePath(name: string, type: PipelineType): string {
  return `${pipelineNameOf(name.replace(/^\//, ''))}${pipelineExtensions[type]}`;
}
