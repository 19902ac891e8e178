/**
 * A pipeline as parsed from its file.
 *
 * - **orchestration** (`.orch.yaml`): components connected by transitions, walked from `start`.
 * - **transformation** (`.tran.yaml`): components connected by sources; one data flow that is compiled to
 *   SQL.
 * - **component**: one node of a pipeline. Its map key is its name; its `type` selects what it does.
 * - **name** of a pipeline: its path in the project without the extension.
 */

export type PipelineType = 'orchestration' | 'transformation';

/** A value of a file. Numbers are kept as their source text, so that `1.10` stays `1.10`. */
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
  /** PRIVATE: the caller of the pipeline cannot set it. */
  readonly visibility: 'PUBLIC' | 'PRIVATE';
  /** The columns of a GRID, in order; empty for other types. */
  readonly columns: readonly GridColumn[];
  readonly defaultValue: Plain;
}

/** How often a component is run, and for how long. */
export interface Attempts {
  /** Attempts after the first one. */
  readonly retries: number;
  /** The wait before each of them. */
  readonly delaySeconds: number;
  /** Of one attempt; absent if its time is not limited. */
  readonly timeoutSeconds?: number;
}

export interface WrongAttempt {
  readonly member: string;
  readonly message: string;
}

interface ComponentFrame {
  readonly name: string;
  readonly type: string;
  readonly parameters: PlainMap;
  /** Absent: one attempt, whose time is not limited. */
  readonly attempts?: Attempts;
  readonly wrongAttempts?: readonly WrongAttempt[];
  /** Unknown members whose names are close to a known one. */
  readonly misspelled?: readonly MisspelledMember[];
}

export interface MisspelledMember {
  readonly member: string;
  readonly meant: string;
  /** The member of the component that contains it; absent if it is directly in the component. */
  readonly inside?: 'postProcessing';
}

export interface OrchestrationComponent extends ComponentFrame {
  readonly transitions: Readonly<Record<TransitionKind, readonly string[]>>;
  readonly skipped: boolean;
  /** The component that an iterator runs. */
  readonly iterationTarget?: string;
  /** `[variable, value]`, applied after the component ended. A value is a text with `${…}`. */
  readonly updateScalarVariables: readonly (readonly [string, string])[];
  /** Grid variables that get rows after the component ended: a list of rows, or `{fromGrid}`. */
  readonly updateGridVariables: readonly { readonly variable: string; readonly rows: Plain }[];
  /** A text with `${…}` that is added to the message of the step. */
  readonly outputMessage?: string;
}

export interface TransformationComponent extends ComponentFrame {
  readonly sources: readonly string[];
}

interface PipelineFrame {
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly variables: ReadonlyMap<string, VariableDeclaration>;
  /** The beginning of the text of its notes; '' if there are none. */
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

/** The pipeline type given by a path's extension; undefined if the file is not a pipeline. */
export function pipelineTypeOf(path: string): PipelineType | undefined {
  if (path.endsWith(pipelineExtensions.orchestration)) return 'orchestration';
  if (path.endsWith(pipelineExtensions.transformation)) return 'transformation';
  return undefined;
}

/** A file whose name looks like a pipeline's but does not have the exact extension. */
export function isMisnamedPipeline(path: string): boolean {
  return pipelineTypeOf(path) === undefined && /\.(?:orch|tran)\.ya?ml$/i.test(path);
}

/** The pipeline's name: its path without the extension. A name is returned unchanged. */
export function pipelineNameOf(path: string): string {
  const type = pipelineTypeOf(path);
  return type === undefined ? path : path.slice(0, -pipelineExtensions[type].length);
}

/** The path of a pipeline's file. `name` may have the extension or not. */
export function pipelinePath(name: string, type: PipelineType): string {
  return `${pipelineNameOf(name.replace(/^\//, ''))}${pipelineExtensions[type]}`;
}
