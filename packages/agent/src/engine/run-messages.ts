/** What the agent and the process of one run (`engine/child.ts`) say to each other over IPC. */
import type { IgnoredPipeline, Step } from '@headgate/contract';
import type { SharedPipelineUse } from '@headgate/pipelines';
import type { RunOutcome, RunRequest } from './ports.ts';

/** An artifact on the disk. */
export interface PlacedArtifact {
  /** Absolute path of the folder of its files. */
  folder: string;
  /** The paths of its files inside that folder. */
  paths: readonly string[];
  /** Pipeline files that its upload left out. */
  ignored: readonly IgnoredPipeline[];
}

/** A version that was chosen for a use of shared pipelines, or why there is none. */
export type PlacedShared = { use: SharedPipelineUse } & (
  | { versionName: string; artifact: PlacedArtifact }
  | { fault: string }
);

export interface RunStart {
  /** The engine sets its own bounds. */
  request: Omit<RunRequest, 'bounds'>;
  artifact: PlacedArtifact;
  shared: readonly PlacedShared[];
  filesFolder: string;
}

export type ToRun =
  | { type: 'start'; start: RunStart }
  | { type: 'cancel' }
  | { type: 'answer'; id: number; value: unknown }
  | { type: 'refusal'; id: number; message: string };

export type FromRun =
  /** Said every second: a process that does not is caught in an expression whose own bound failed. */
  | { type: 'alive' }
  | { type: 'execute'; id: number; sql: string }
  | { type: 'query'; id: number; sql: string; maxRows: number }
  /** The value of a secret reference. */
  | { type: 'secret'; id: number; name: string }
  | { type: 'step'; step: Step }
  | { type: 'line'; line: string }
  | { type: 'finished'; outcome: RunOutcome };
