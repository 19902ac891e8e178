/**
 * The IPC messages between the agent and a process of runs (`engine/process/child.ts`). The process does one run at a
 * time. Every message of a run has its number in the process; messages of another number are dropped.
 */
import type { IgnoredPipeline, RunVariables, Step } from '@headgate/contract';
import type {
  FileConversion,
  ObjectReading,
  PageRequest,
  SharedPipelineUse,
  StoreAddress,
  StorePlace,
} from '@headgate/pipelines';
import type { RanSql } from '../../lineage/ran-sql.ts';
import type { ScriptEnd, ScriptJob, ScriptStream, SentRequest } from '../../scripts/script-job.ts';

import type { FetchedFile, ListScope, StoredObject } from '../../stores/object-store.ts';
import type { AnsweredPage, AskedEndpoint } from './asked-endpoint.ts';
import type {
  ConvertedPartial,
  CopiedFile,
  FileDescription,
  LogSource,
  RunOutcome,
  RunRequest,
  SecretSql,
  SentFile,
} from './ports.ts';

/** Sessions of the warehouse for one run. */
export const sessionLimit = 4;

/** The files of an artifact: their paths, and the SHA-256 of each. */
export interface ArtifactIndex {
  paths: readonly string[];
  digests: readonly string[];
}

/** An artifact on disk. */
export interface PlacedArtifact {
  /** Identifies the index. */
  digest: string;
  /** Absolute path of the folder with its files. */
  folder: string;
  index: ArtifactIndex;
  /** Pipeline files that the upload ignored. */
  ignored: readonly IgnoredPipeline[];
}

/** The version chosen for a use of shared pipelines, or why there is none. */
export type PlacedShared = { use: SharedPipelineUse } & (
  | { versionName: string; artifact: PlacedArtifact }
  | { fault: string }
);

/** An artifact as the process gets it. It keeps the index of each digest that it got. */
export type SentArtifact = Omit<PlacedArtifact, 'index'> & { index?: ArtifactIndex };

export interface RunStart {
  /** The engine sets `bounds` itself. */
  request: Omit<RunRequest, 'bounds'>;
  /** The first is the run's own; `SentShared` refers to others by their place. */
  artifacts: readonly SentArtifact[];
  shared: readonly SentShared[];
}

export type SentShared = { use: SharedPipelineUse } & (
  | { versionName: string; artifact: number }
  | { fault: string }
);

export type ToRun =
  /** `forget`: drop the kept indexes first. */
  | { type: 'start'; run: number; start: RunStart; forget?: true }
  | { type: 'cancel'; run: number; requestedBy: string | undefined }
  | { type: 'answer'; run: number; id: number; value: unknown }
  /** `isPermanent`: a question in the same words would be refused again. */
  | { type: 'refusal'; run: number; id: number; message: string; isPermanent?: true }
  /** `script`: the id of the message that started it. */
  | { type: 'script-line'; run: number; script: number; stream: ScriptStream; line: string }
  | { type: 'script-request'; run: number; script: number; request: number; question: SentRequest };

/** A call of the run that the agent answers with the id of its message. */
export interface Questions {
  execute: { question: { sql: string; session?: number; secret?: SecretSql }; answer: { rowCount: number } };
  query: {
    question: { sql: string; maxRows: number; session?: number; secret?: SecretSql };
    /** The JSON of columns and rows. */
    answer: string;
  };
  copy: { question: { sql: string; file: CopiedFile; session?: number }; answer: { rowCount: number } };
  'between-execute': { question: { sql: string }; answer: { rowCount: number } };
  'between-query': { question: { sql: string; maxRows: number }; answer: string };
  /** The value of a secret reference. */
  secret: { question: { name: string }; answer: string };
  /** From now on the SQL and the files of the run go to a scratch database and its folder. */
  scratch: { question: Record<never, never>; answer: { schema?: string } };
  script: { question: { job: ScriptJob }; answer: ScriptEnd };
  /** A file of an artifact, by the artifact's place in the start. */
  'artifact-text': { question: { artifact: number; path: string }; answer: string };
  'artifact-file': { question: { artifact: number; path: string }; answer: FileDescription };
  /** Opens an endpoint for calls. The answer is its number. */
  'connector-open': { question: AskedEndpoint; answer: number };
  'connector-page': { question: { call: number; page: Omit<PageRequest, 'number'> }; answer: AnsweredPage };
  'connector-close': { question: { call: number }; answer: undefined };
  /** The objects of a store whose keys begin so. More than `limit` are an error. */
  'store-list': {
    question: { place: StorePlace; limit?: number; scope?: ListScope };
    answer: StoredObject[];
  };
  /** Writes an object to partial files of the files folder. */
  'store-fetch': {
    question: { store: StoreAddress; object: StoredObject; reading: ObjectReading };
    answer: FetchedFile[];
  };
  'store-stat': { question: { place: StorePlace }; answer: StoredObject };
  /** The answer is the number of bytes. */
  'store-send': { question: SentFile; answer: number };
  /** Runs a statement in the warehouse, with the access key of the store where `credentialsMark` stands. */
  'store-execute': {
    question: { store: StoreAddress; sql: string; session?: number };
    answer: { rowCount: number };
  };
  /** The answer has the keys of objects that changed, and stay. */
  'store-remove': {
    question: { store: StoreAddress; objects: readonly StoredObject[] };
    answer: readonly string[];
  };
  'file-find': { question: { path: string }; answer: string };
  'file-text': { question: { path: string }; answer: string };
  'file-list': { question: { folder: string; recursive: boolean }; answer: string[] | undefined };
  'file-descriptions': { question: { folder: string; paths: readonly string[] }; answer: FileDescription[] };
  /** The answer is the path of a partial file. */
  'file-download': { question: { address: string; unpacks: boolean }; answer: string };
  /** The answer has the path of a partial file. */
  'file-convert': {
    question: {
      source: { partial: string } | { path: string } | { artifact: number; path: string };
      conversion: FileConversion;
    };
    answer: ConvertedPartial;
  };
  'file-begin': { question: { path: string }; answer: string };
  /** More text at the end of a file that is being written. */
  'file-append': { question: { partial: string; text: string }; answer: undefined };
  'file-end': { question: { partial: string; isComplete: boolean }; answer: undefined };
}

export type QuestionName = keyof Questions;
export type Question = {
  [Name in QuestionName]: { type: Name; run: number; id: number } & Questions[Name]['question'];
}[QuestionName];

export type FromRun =
  /** The process has loaded its code and dropped its rights. */
  | { type: 'ready' }
  /** In their order. */
  | { type: 'several'; messages: readonly OfRun[] }
  | OfRun;

export type OfRun =
  /** Sent every second of a run. Silence means that an expression blocks the process past its own time limit. */
  | { type: 'alive'; run: number }
  | Question
  /** Ends the statement or script that the message `asked` started. It is then answered as failed. */
  | { type: 'interrupt'; run: number; questionId: number }
  | { type: 'script-answer'; run: number; request: number; json: string }
  | { type: 'script-refusal'; run: number; request: number; message: string }
  | { type: 'step'; run: number; step: Step; ran?: RanSql }
  | { type: 'line'; run: number; line: string; source: LogSource; timestamp: string }
  | { type: 'variables'; run: number; variables: RunVariables }
  /** `faults`: why the process should do no other run. */
  | { type: 'finished'; run: number; outcome: RunOutcome; faults: readonly string[] };
