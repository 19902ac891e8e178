/**
 * The ports of a run. The engine does I/O only through these, and through the paths that they return.
 *
 * - **run**: one execution of a root pipeline, including the pipelines it calls.
 * - **step**: one run of one component. It is reported when it starts (`RUNNING`) and again, in full, when it
 *   ends.
 * - **artifact**: a published version whose pipelines run: the execution's own, or a version of shared
 *   pipelines. A pipeline finds the pipelines and files that it names in its own artifact only.
 * - **files folder**: the folder of one environment in which pipelines may read and write files.
 */
import type {
  LogStream,
  ProjectVariable,
  RestartPlan,
  RunVariables,
  ScheduledWork,
  Step,
} from '@headgate/contract';
import type {
  Converted,
  FileConversion,
  ObjectReading,
  PageRequest,
  QuickJsSource,
  SharedPipelineUse,
  SqlRules,
  StoreAddress,
  StorePlace,
  Unreadable,
} from '@headgate/pipelines';
import type { RanSql } from '../../lineage/ran-sql.ts';
import type { RunScript } from '../../scripts/script-job.ts';
import type { FetchedFile, ListScope, StoredObject } from '../../stores/object-store.ts';

import type { AnsweredPage, AskedEndpoint } from './asked-endpoint.ts';
import type { RunCaches } from './run-caches.ts';

/** A statement with parameters, `$1` and so on, in place of its secrets. No values: they cannot be parameters. */
export interface SecretSql {
  sql: string;
  values: string[];
}

/**
 * The database in which a run executes its SQL. A session has its own transaction, temporary tables and settings.
 * A run has few sessions; without a number, a statement is of session 0.
 */
export interface Warehouse {
  /**
   * Runs one statement.
   *
   * @param limit interrupts the statement when it is aborted
   * @param secret the same statement, if it has secrets
   * @returns `rowCount`: the rows changed or returned.
   * @throws Error with the message of the warehouse.
   */
  execute(
    sql: string,
    session?: number,
    limit?: AbortSignal,
    secret?: SecretSql,
  ): Promise<{ rowCount: number }>;
  /**
   * Runs one query. More than `maxRows` rows are an error. Values are strings, numbers, booleans or null. A
   * bigint is a number if it is a safe integer, else a string. A date is an ISO 8601 string.
   */
  query(
    sql: string,
    maxRows: number,
    session?: number,
    limit?: AbortSignal,
    secret?: SecretSql,
  ): Promise<{ columns: string[]; rows: unknown[][] }>;
  /**
   * Runs a statement with the access key of a store, where `credentialsMark` stands; absent: the warehouse reaches no
   * stores. @returns `rowCount`
   */
  executeInStore?(
    sql: string,
    store: StoreAddress,
    session?: number,
    limit?: AbortSignal,
  ): Promise<{ rowCount: number }>;
  /** Runs a COPY between a file and a warehouse that reaches no files; absent: it reaches them. @returns `rowCount` */
  copy?(sql: string, file: CopiedFile, session?: number, limit?: AbortSignal): Promise<{ rowCount: number }>;
}

/** A file whose bytes a statement reads or writes through the connection. */
export interface CopiedFile {
  /** Absolute, as the ports of files and artifacts give it. What is written to is a partial file. */
  readonly path: string;
  readonly to: 'warehouse' | 'file';
  /** Lines at the beginning of the file that are not sent. */
  readonly skippedLines?: number;
  /** The statement with the name of the file, for those who read what ran. */
  readonly shown?: string;
}

/** The files of an artifact, by path. */
export interface ArtifactFiles {
  readonly paths: readonly string[];
  has(path: string): boolean;
  /** Opens an endpoint of a connector profile of the artifact. @throws Error with the reason */
  openEndpoint(request: Omit<AskedEndpoint, 'artifact'>): Promise<EndpointPort>;
  /** Identifies the content of a file of the artifact. */
  getDigest(path: string): string;
  /** Pipeline files that the upload ignored, by path, with the reason. */
  readonly ignored: ReadonlyMap<string, Unreadable>;
  /** A file as text; undefined if it does not exist. */
  read(path: string): Promise<string | undefined>;
  /** The absolute path of a file on disk, for the warehouse; undefined if it does not exist. */
  place(path: string): string | undefined;
  /** Of a file of the artifact: `modified` is when it came to this machine. */
  describe(path: string): Promise<FileDescription>;
  /** As `RunPorts.convert`. */
  convert(path: string, conversion: FileConversion, limit?: AbortSignal): Promise<ConvertedPartial>;
}

export interface FileDescription {
  /** ISO 8601. */
  readonly modified: string;
  /** In bytes. */
  readonly size: number;
}

/** Lines of JSON in a partial file of the files folder, which `files.endWrite` removes. */
export interface ConvertedPartial extends Converted {
  readonly path: string;
  readonly bytes: number;
}

/**
 * The files folder of the run. All paths that it takes are relative to the folder; those that it returns are
 * absolute, for the warehouse. The methods throw a FileError that names the path.
 */
export interface RunFiles {
  /** A file to read. */
  find(path: string): Promise<string>;
  /** A file as text. */
  read(path: string): Promise<string>;
  /** The paths of the files below `folder`, relative to it; undefined if there is no such folder. */
  list(folder: string, recursive: boolean): Promise<string[] | undefined>;
  /** Of files below `folder`. */
  describe(folder: string, paths: readonly string[]): Promise<FileDescription[]>;
  /** Creates missing folders. Returns the path to write to, beside the target. */
  beginWrite(path: string): Promise<string>;
  /** Adds text to a file between its begin and its end. */
  append(partial: string, text: string): Promise<void>;
  /** Whether a path is that of a file between its begin and its end. */
  isWriting(path: string): boolean;
  /** The path of a file between its begin and its end, which is written by others. */
  findWriting(partial: string): string;
  /** Renames a complete file to its target, and removes another. */
  endWrite(partial: string, isComplete: boolean): Promise<void>;
  /** Removes unfinished files. */
  close(): Promise<void>;
}

/**
 * The version that was chosen for a use of shared pipelines when the execution started, or why there is none.
 */
export type SharedVersion = { versionName: string; files: ArtifactFiles } | { fault: string };

/** One endpoint of a connector, called by the agent. */
export interface EndpointPort {
  /** @throws Error with the reason, if there is no successful response */
  fetch(page: Omit<PageRequest, 'number'>, limit?: AbortSignal): Promise<AnsweredPage>;
  close(): Promise<void>;
}

/** Where a line of the log comes from. */
export interface LogSource {
  /** The `stepId` of the step that prints it. */
  step: string;
  stream: LogStream;
}

/** Object stores. Each call throws an Error with the reason. */
export interface RunStorePort {
  list(place: StorePlace, limit?: AbortSignal, scope?: ListScope): Promise<StoredObject[]>;
  /** The files of an object, in the files folder: `files.endWrite` removes each. */
  fetch(
    store: StoreAddress,
    object: StoredObject,
    reading: ObjectReading,
    limit?: AbortSignal,
  ): Promise<FetchedFile[]>;
  /** Removes what still has its version. Returns the keys of the others that are there, which stay. */
  remove(
    store: StoreAddress,
    objects: readonly StoredObject[],
    limit?: AbortSignal,
  ): Promise<readonly string[]>;
  /** @throws Error also if there is no such object */
  stat(place: StorePlace, limit?: AbortSignal): Promise<StoredObject>;
  /** Copies a file to an object or to a file of the files folder. Returns the bytes that were written. */
  send(file: SentFile, limit?: AbortSignal): Promise<number>;
}

export interface SentFile {
  /** A file that is being written, a path of the files folder, or an object of the store of the target. */
  readonly source:
    | { readonly partial: string }
    | { readonly path: string }
    | { readonly object: StoredObject };
  readonly target: { readonly place: StorePlace } | { readonly path: string };
  readonly gzips: boolean;
  /** Whether a target that exists is an error. */
  readonly isNew: boolean;
  /** That the object may have; undefined: any number. */
  readonly maxBytes?: number | undefined;
}

export interface RunPorts {
  warehouse: Warehouse;
  /** Sessions of the warehouse that the run may use at the same time. */
  sessions: number;
  artifact: ArtifactFiles;
  /**
   * The value of a secret reference of the project.
   *
   * @throws Error that names the reference and gives the reason.
   */
  secret(name: string): Promise<string>;
  /**
   * Runs a script in the agent's sandbox.
   *
   * @throws Error that says what the agent needs, if scripts are off.
   */
  runScript: RunScript;
  /** Undefined if the use was not known when the execution started. */
  findShared(use: SharedPipelineUse): SharedVersion | undefined;
  files: Omit<RunFiles, 'close' | 'findWriting' | 'isWriting'>;
  /**
   * Downloads a file into a partial file of the files folder, which `files.endWrite` removes.
   *
   * @param unpacks whether a compressed file is unpacked
   * @throws Error with the reason
   */
  download(address: string, unpacks: boolean, limit?: AbortSignal): Promise<string>;
  stores: RunStorePort;
  /** An embedded database of the run, which reads and writes files for a warehouse that reaches none. */
  between: Pick<Warehouse, 'execute' | 'query'>;
  /**
   * Converts a file that is being written, or one of the files folder.
   *
   * @throws Error with the reason
   */
  convert(
    source: Exclude<SentFile['source'], { object: StoredObject }>,
    conversion: FileConversion,
    limit?: AbortSignal,
  ): Promise<ConvertedPartial>;
  /**
   * Puts all further SQL of the run into a scratch database, and its files into a folder of their own. Both are
   * dropped at its end. `schema`: what names without a schema mean from now on; absent: as before.
   */
  enterScratch(): Promise<{ schema?: string }>;
  /** Says why the process should do no other run. */
  reportFault(fault: string): void;
  /** Creates an instance of QuickJS for this run. */
  createQuickJs: QuickJsSource;
  /** What the process keeps from run to run. */
  caches: RunCaches;
  /** Reports the state of a step. A changed step is reported again, in full, with the same `stepId`. */
  /** @param ran what a step that has succeeded has run */
  report(step: Step, ran?: RanSql): void;
  /** Adds a line to the run's log: what a component or its script prints. */
  log(line: string, source: LogSource): void;
  /** Records with which variables a pipeline starts. */
  recordVariables(variables: RunVariables): void;
  /** True after a graceful cancel: running steps finish and no new step starts. */
  isCancelled(): boolean;
  /** The name of the caller that cancelled, if it is known. */
  getCanceller(): string | undefined;
  now(): Date;
  /** Resolves after a time, or as soon as the run is cancelled or `limit` is aborted. */
  wait(milliseconds: number, limit?: AbortSignal): Promise<void>;
  /** Calls `onTime` after a time. Returns what stops the timer. */
  startTimer(milliseconds: number, onTime: () => void): () => void;
  /** A new uuid. */
  newId(): string;
}

/** Limits of a run. `runBounds` in `run.ts` has the defaults. */
export interface RunBounds {
  /** Depth of calls, including the root pipeline. */
  pipelineDepth: number;
  /** Iterations of one iterator. */
  iterations: number;
  /** Steps of the whole run. */
  steps: number;
  /** Milliseconds of one expression. */
  expressionMilliseconds: number;
  /** Bytes of memory of one expression. */
  expressionBytes: number;
  /** Rows that a query may store in a variable. */
  variableRows: number;
}

export interface RunRequest {
  pipelineExecutionId: string;
  projectId: string;
  environmentName: string;
  /** With or without its extension. */
  pipelineName: string;
  versionName: string;
  /** The type of the project's warehouse, such as DUCKDB. */
  warehouse: string;
  /** Why nothing can run in it; absent: it can be tried. */
  warehouseFault?: string;
  /** What names without database or schema mean; absent: as in the embedded warehouse. */
  defaults?: { database: string; schema: string };
  sql: SqlRules;
  variables: readonly ProjectVariable[];
  scalarVariables: Readonly<Record<string, unknown>>;
  gridVariables: Readonly<Record<string, readonly (readonly unknown[])[]>>;
  bounds: RunBounds;
  /** The schedule that the run is of. */
  schedule?: ScheduledWork;
  /** The run continues another one. */
  restart?: RestartPlan;
  /** The run is a test, and its warehouse a scratch database from the beginning. */
  isTest?: boolean;
}

/** What the asserts of a test found. Texts are masked and bounded. */
export interface TestedOutcome {
  /** Asserts that ran. */
  asserts: number;
  /** The first that did not hold. */
  fault?: { message: string; expected: string; actual: string };
}

export type RunOutcome = {
  status: 'SUCCESS' | 'FAILED' | 'CANCELLED';
  message?: string;
  /** Of a test. */
  tested?: TestedOutcome;
};
