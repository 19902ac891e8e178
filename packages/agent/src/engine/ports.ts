/**
 * What a run of a pipeline needs from the world, and nothing else: the engine does no I/O of its own but
 * through these ports, except making the parent folders of a file that it unloads.
 *
 * - **run**: one execution of a root pipeline, with the child pipelines that it starts.
 * - **step**: one run of one component; reported when it starts (`RUNNING`) and again, whole, when it ends.
 * - **artifact**: a published version whose pipelines run: the execution's own, or a version of shared
 *   pipelines. A pipeline finds the pipelines and files that it names in its own artifact only.
 * - **files folder**: where the agent lets pipelines read and write files of their own, one for each
 *   environment.
 */
import type { ProjectVariable, Step } from '@headgate/contract';
import type { SharedPipelineUse, Unreadable } from '@headgate/pipelines';

/**
 * The database that a run pushes its SQL down to. All calls of a run are one session, in which a transaction
 * lasts from call to call.
 */
export interface Warehouse {
  /**
   * Runs one statement.
   *
   * @returns `rowCount`, the rows changed or returned.
   * @throws Error with the warehouse's own message.
   */
  execute(sql: string): Promise<{ rowCount: number }>;
  /**
   * Runs one query and returns at most `maxRows` rows; one row more is an error that says so. Values are
   * JavaScript's: string, number, boolean, null; a bigint is a number when safe and a string otherwise, a
   * date an ISO 8601 string.
   */
  query(sql: string, maxRows: number): Promise<{ columns: string[]; rows: unknown[][] }>;
}

/** The files of an artifact, by their paths inside it. */
export interface ArtifactFiles {
  readonly paths: readonly string[];
  /** Why pipeline files of the upload are not among them, by their paths. */
  readonly ignored: ReadonlyMap<string, Unreadable>;
  /** A file as text; undefined when there is none of that path. */
  read(path: string): Promise<string | undefined>;
  /** The absolute path of a file on disk, for the warehouse to read; undefined when there is none. */
  place(path: string): string | undefined;
}

/**
 * What the start of the execution has chosen for a use of shared pipelines: a version with its files, or why
 * there is none.
 */
export type SharedVersion = { versionName: string; files: ArtifactFiles } | { fault: string };

export interface RunPorts {
  warehouse: Warehouse;
  artifact: ArtifactFiles;
  /**
   * The value of a secret reference of the project.
   *
   * @throws Error that names the reference and says why it cannot be had.
   */
  secret(name: string): Promise<string>;
  /** Undefined for a use that the execution's start did not know of. */
  findShared(use: SharedPipelineUse): SharedVersion | undefined;
  /** Absolute path of the agent's files folder for this environment; it exists. */
  filesFolder: string;
  /**
   * Takes a step's state; the caller batches. A step is reported again, whole, under the same `stepId` when
   * it changes.
   */
  report(step: Step): void;
  /** Takes a line for the run's log (print-variables); it becomes the step's message too. */
  log(line: string): void;
  /** True once a graceful cancel was asked for: the running step ends, none starts after it. */
  isCancelled(): boolean;
  now(): Date;
  /** A new uuid. */
  newId(): string;
}

/** Limits of a run; `runBounds` of `run.ts` gives the default ones. */
export interface RunBounds {
  /** Pipelines inside one another, the root counted. */
  pipelineDepth: number;
  /** Iterations of one iterator. */
  iterations: number;
  /** Steps of the whole run. */
  steps: number;
  /** Milliseconds of one expression. */
  expressionMilliseconds: number;
  /** Bytes of memory of one expression. */
  expressionBytes: number;
  /** Rows that a query may put into a variable. */
  variableRows: number;
}

export interface RunRequest {
  pipelineExecutionId: string;
  projectId: string;
  environmentName: string;
  /** With or without its extension. */
  pipelineName: string;
  versionName: string;
  /** Of the project, in the words of the interface: DUCKDB. */
  warehouse: string;
  variables: readonly ProjectVariable[];
  scalarVariables: Readonly<Record<string, unknown>>;
  gridVariables: Readonly<Record<string, readonly (readonly unknown[])[]>>;
  bounds: RunBounds;
}

export type RunOutcome = { status: 'SUCCESS' | 'FAILED' | 'CANCELLED'; message?: string };
