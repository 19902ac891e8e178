import type { Finding } from './finding.ts';

/** How long to measure, and where to write a profile. */
export interface WorkSettings {
  rounds: number;
  /** Duration of one side in one round. */
  milliseconds: number;
  /** Folder for a processor profile of the server; undefined for none. */
  profileFolder: string | undefined;
  /** Part of the names of the hostile shapes to send; empty for all. */
  shape: string;
}

/** Measures one thing that the server must do fast enough, and returns the findings. */
export type Work = (settings: WorkSettings) => Promise<Finding[]>;
