/**
 * What the parts of a run have in common.
 *
 * - **run**: the whole execution, from its root pipeline down.
 * - **pipeline run**: one run of one pipeline inside it, with an id and variables of its own.
 * - **halt**: the reason why nothing more may start: a cancel, or a bound of the whole run.
 */
import type { Step } from '@headgate/contract';
import type {
  CheckedArtifact,
  Dialect,
  ExpressionEngine,
  Pipeline,
  PipelineType,
  Resolved,
  SharedPipelineUse,
  VariableScope,
} from '@headgate/pipelines';
import type { ArtifactFiles, RunOutcome, RunPorts, RunRequest } from './ports.ts';
import type { Session } from './session.ts';

/** An artifact whose pipelines run. */
export interface RunArtifact {
  readonly versionName: string;
  /** How messages name it. */
  readonly title: string;
  readonly files: ArtifactFiles;
  /** Each is parsed once. @throws Error when it cannot be read */
  pipeline(path: string): Promise<Pipeline | undefined>;
  /** The same, for the check before the run. */
  readonly checked: CheckedArtifact;
}

export interface PipelineCall {
  /** With or without its extension. */
  readonly name: string;
  /** Undefined: whichever of the two there is. */
  readonly type: PipelineType | undefined;
  /** Which holds the pipeline. */
  readonly artifact: RunArtifact;
  /** Takes the path of the pipeline, before it runs. */
  onFound?(path: string): void;
  readonly pipelineRunId: string;
  /** Paths of the pipelines from the root to the caller. */
  readonly chain: readonly string[];
  /** The caller's variables. */
  readonly scope: VariableScope;
  readonly scalars: Iterable<readonly [string, unknown]>;
  readonly grids: Iterable<readonly [string, Resolved | readonly (readonly unknown[])[]]>;
}

export interface RunContext {
  readonly request: RunRequest;
  readonly ports: RunPorts;
  readonly dialect: Dialect;
  readonly warehouse: Session;
  readonly expressions: ExpressionEngine;
  /** @throws Error that names the secret reference and says why its value cannot be had */
  readSecret(name: string): Promise<string>;
  /** A text that leaves the run, without the secrets that it has read; before it is cut. */
  mask(text: string): string;
  /** Counts a step that starts. */
  countStep(): void;
  findHalt(): RunOutcome | undefined;
  /** Ends the whole run, whatever the pipelines make of a failure; nothing more starts. */
  halt(outcome: RunOutcome): void;
  getHaltOutcome(): RunOutcome | undefined;
  /** Checks a pipeline with all that it can come to, unless that is done. What is wrong, as a message. */
  check(artifact: RunArtifact, path: string): Promise<string | undefined>;
  call(call: PipelineCall): Promise<RunOutcome>;
  /** @throws Error that says what to do when there is no version for the use */
  getSharedArtifact(use: SharedPipelineUse): RunArtifact;
  /** Runs one piece of work at a time, so that a variable's new value is computed from its latest one. */
  runExclusively<T>(work: () => Promise<T>): Promise<T>;
}

export interface PipelineRun<P extends Pipeline = Pipeline> {
  readonly context: RunContext;
  readonly pipelineRunId: string;
  readonly pipeline: P;
  /** Which holds the pipeline. */
  readonly artifact: RunArtifact;
  /** Paths of the pipelines from the root to this one. */
  readonly chain: readonly string[];
  readonly scope: VariableScope;
}

/**
 * What `${sysvar.…}` reads. `thisComponent` gains `status`, `message` and `rowCount` when the component has
 * ended.
 */
export function createSystemVariables(run: PipelineRun, step: Step): Record<string, unknown> {
  const { request } = run.context;
  return {
    thisPipeline: { name: run.pipeline.name.split('/').at(-1) ?? '', fullName: run.pipeline.name },
    thisComponent: {
      name: step.name,
      taskId: step.stepId,
      status: step.status,
      message: step.message ?? '',
      rowCount: step.rowCount ?? 0,
      startedAt: step.startedAt,
      finishedAt: step.finishedAt ?? '',
    },
    environment: { name: request.environmentName },
    project: { id: request.projectId },
    rootPipeline: { executionId: request.pipelineExecutionId },
    artifact: { versionName: run.artifact.versionName },
  };
}

export function getMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
