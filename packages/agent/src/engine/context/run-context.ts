/**
 * The state shared by the parts of a run.
 *
 * - **run**: the whole execution, including called pipelines.
 * - **pipeline run**: one run of one pipeline, with its own id and variables.
 * - **halt**: the reason why no further step may start: a cancel, or an exceeded limit of the run.
 */
import type { RestartedRun, Step } from '@headgate/contract';
import {
  type CheckedArtifact,
  type Dialect,
  type ExpressionEngine,
  environmentDefaults,
  isGrid,
  type Pipeline,
  type PipelineType,
  type Resolved,
  type SharedPipelineUse,
  type VariableScope,
} from '@headgate/pipelines';
import type { ArtifactFiles, RunOutcome, RunPorts, RunRequest } from '../ports/ports.ts';
import type { RepeatedKeys } from '../session/repeated-keys.ts';
import type { Session } from '../session/session.ts';
import type { StartedPipeline } from './run-variables.ts';
import type { StepRecords } from './step-records.ts';
import type { SqlRoom } from './step-sql.ts';
import type { TestAsserts } from './test-asserts.ts';

/** An artifact with pipelines to run. */
export interface RunArtifact {
  readonly versionName: string;
  /** Its name in messages. */
  readonly title: string;
  readonly files: ArtifactFiles;
  /** A pipeline, parsed once. @throws Error if it cannot be read */
  pipeline(path: string): Promise<Pipeline | undefined>;
  /** The line of a component in the file. */
  lineOf(path: string, component: string): Promise<number>;
  /** The same artifact for the check before the run. */
  readonly checked: CheckedArtifact;
}

export interface PipelineCall {
  /** With or without its extension. */
  readonly name: string;
  /** Undefined: either type. */
  readonly type: PipelineType | undefined;
  /** The artifact that contains the pipeline. */
  readonly artifact: RunArtifact;
  /** Called with the path of the pipeline before it runs. */
  onFound?(path: string): void;
  readonly pipelineRunId: string;
  /** Paths of the pipelines from the root to the caller. */
  readonly chain: readonly string[];
  /** The caller's variables. */
  readonly scope: VariableScope;
  readonly scalars: Iterable<readonly [string, unknown]>;
  readonly grids: Iterable<readonly [string, Resolved | readonly (readonly unknown[])[]]>;
  /** From where it continues; absent: it runs from its start. */
  readonly restarted?: RestartedRun;
}

export type CallOutcome = RunOutcome & {
  /** The variables of the called pipeline at its end; absent if it did not start. */
  scope?: VariableScope;
};

export interface RunContext {
  readonly request: RunRequest;
  readonly ports: RunPorts;
  readonly dialect: Dialect;
  readonly warehouse: Session;
  readonly repeatedKeys: RepeatedKeys;
  readonly expressions: ExpressionEngine;
  /** Aborted when the time of a component around the present one runs out; absent if it is not limited. */
  readonly limit?: AbortSignal;
  /** @throws Error that names the secret reference and gives the reason */
  readSecret(name: string): Promise<string>;
  /** Masks the secrets of the run in a text that leaves it. The text must be cut only after this. */
  mask(text: string): string;
  /** A statement as a step shows it: masked, or not at all. */
  showSql(statement: string): string;
  /** A statement without secrets; undefined if it is not shown. */
  showSqlIfPlain(statement: string): string | undefined;
  /** The message of an error, with the statement of the user that it is about. */
  describeError(error: unknown): string;
  /** Records with which variables a pipeline starts. */
  recordVariables(started: StartedPipeline): void;
  /** What the steps record for a restart. */
  readonly records: StepRecords;
  /** What is left for the SQL that steps show. */
  readonly sqlRoom: SqlRoom;
  /** Counts a started step. */
  countStep(): void;
  /** The asserts of a test; undefined if the run is no test. */
  readonly asserts: TestAsserts | undefined;
  findHalt(): RunOutcome | undefined;
  /** Ends the whole run with this outcome, even if a pipeline handles the failure. */
  halt(outcome: RunOutcome): void;
  getHaltOutcome(): RunOutcome | undefined;
  /** Checks a pipeline and the pipelines it can call, once. Returns a message if there are errors. */
  check(artifact: RunArtifact, path: string): Promise<string | undefined>;
  /** `context`: that of the caller, whose time limits bound the called pipeline. */
  call(call: PipelineCall, context: RunContext): Promise<CallOutcome>;
  /** @throws Error if there is no version for the use; the message says what to do */
  getSharedArtifact(use: SharedPipelineUse): RunArtifact;
  /** Runs one task at a time, so that a variable's new value is computed from its latest value. */
  runExclusively<T>(work: () => Promise<T>): Promise<T>;
}

export interface PipelineRun<P extends Pipeline = Pipeline> {
  readonly context: RunContext;
  readonly pipelineRunId: string;
  readonly pipeline: P;
  /** The artifact that contains the pipeline. */
  readonly artifact: RunArtifact;
  /** Paths of the pipelines from the root to this one. */
  readonly chain: readonly string[];
  readonly scope: VariableScope;
  /** From where it continues; absent: it runs from its start. */
  readonly restarted?: RestartedRun;
}

/**
 * The value of `sysvar`. `thisComponent` gets its final `status`, `message` and `rowCount` when it has ended.
 *
 * @param child the variables of the pipeline that the component has run, after its end
 */
export function createSystemVariables(
  run: PipelineRun,
  step: Step,
  child?: VariableScope,
): Record<string, unknown> {
  const { request } = run.context;
  const finished = step.finishedAt === undefined ? undefined : Date.parse(step.finishedAt);
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
      /** Seconds. */
      duration: finished === undefined ? 0 : (finished - Date.parse(step.startedAt)) / 1_000,
    },
    ...(child === undefined ? {} : { childPipeline: { vars: listValues(child) } }),
    environment: { name: request.environmentName, defaults: describeDefaults(request) },
    project: { id: request.projectId },
    rootPipeline: { executionId: request.pipelineExecutionId },
    artifact: { versionName: run.artifact.versionName },
    ...(request.schedule === undefined ? {} : { schedule: request.schedule }),
  };
}

const describeDefaults = ({ warehouse, defaults }: RunRequest) =>
  defaults === undefined ? environmentDefaults : { warehouse: warehouse.toLowerCase(), ...defaults };

/** A grid is an object of columns, as in expressions. */
function listValues(scope: VariableScope): Record<string, unknown> {
  return Object.fromEntries(
    scope.all().map(({ name, value }) => {
      if (!isGrid(value)) return [name, value];
      const columns = value.columns.map((column, index) => [
        column.name,
        value.rows.map((row) => row[index] ?? null),
      ]);
      return [name, Object.fromEntries(columns)];
    }),
  );
}

/** `main.orch.yaml, line 7: "Load" failed: …` */
export async function describeFailure(
  { artifact, pipeline }: PipelineRun,
  component: string,
  message: string,
): Promise<string> {
  const line = await artifact.lineOf(pipeline.path.slice(artifact.checked.prefix.length), component);
  return `${pipeline.path}, line ${line}: "${component}" failed: ${message}`;
}

export function getMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
