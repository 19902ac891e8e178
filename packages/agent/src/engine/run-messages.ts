/** The IPC messages between the agent and the process of a run (`engine/child.ts`). */
import type { IgnoredPipeline, RunVariables, Step } from '@headgate/contract';
import type { SharedPipelineUse } from '@headgate/pipelines';
import type { ScriptJob, ScriptStream, SentRequest } from '../scripts/script-job.ts';
import type { LogSource, RunOutcome, RunRequest } from './ports.ts';

/** An artifact on disk. */
export interface PlacedArtifact {
  /** Absolute path of the folder with its files. */
  folder: string;
  /** Paths of the files, relative to the folder. */
  paths: readonly string[];
  /** Pipeline files that the upload ignored. */
  ignored: readonly IgnoredPipeline[];
}

/** The version chosen for a use of shared pipelines, or why there is none. */
export type PlacedShared = { use: SharedPipelineUse } & (
  | { versionName: string; artifact: PlacedArtifact }
  | { fault: string }
);

export interface RunStart {
  /** The engine sets `bounds` itself. */
  request: Omit<RunRequest, 'bounds'>;
  artifact: PlacedArtifact;
  shared: readonly PlacedShared[];
  filesFolder: string;
  /** Of a test: the environment's folder, from which it may read too. */
  environmentFilesFolder?: string;
}

export type ToRun =
  | { type: 'start'; start: RunStart }
  | { type: 'cancel'; requestedBy: string | undefined }
  | { type: 'answer'; id: number; value: unknown }
  | { type: 'refusal'; id: number; message: string }
  /** `script`: the id of the message that started it. */
  | { type: 'script-line'; script: number; stream: ScriptStream; line: string }
  | { type: 'script-request'; script: number; request: number; asked: SentRequest };

export type FromRun =
  /** Sent every second. Silence means that an expression blocks the process past its own time limit. */
  | { type: 'alive' }
  | { type: 'execute'; id: number; sql: string }
  | { type: 'query'; id: number; sql: string; maxRows: number }
  /** The value of a secret reference. */
  | { type: 'secret'; id: number; name: string }
  /** From now on the SQL of the run goes to a scratch database. */
  | { type: 'scratch'; id: number }
  /** Answered with a `ScriptEnd` when the script has ended. */
  | { type: 'script'; id: number; job: ScriptJob }
  /** Ends the statement or script that the message `asked` started. It is then answered as failed. */
  | { type: 'interrupt'; asked: number }
  | { type: 'script-answer'; request: number; value: unknown }
  | { type: 'script-refusal'; request: number; message: string }
  | { type: 'step'; step: Step }
  | { type: 'line'; line: string; source: LogSource; timestamp: string }
  | { type: 'variables'; variables: RunVariables }
  | { type: 'finished'; outcome: RunOutcome };
