import type { Finding } from './finding.ts';

/** How much is measured, and what is kept beside it. */
export interface WorkSettings {
  rounds: number;
  /** Of one side in one round. */
  milliseconds: number;
  /** Where a processor profile of the server is written; undefined for none. */
  profileFolder: string | undefined;
}

/** One thing that the server must do fast enough: measures it, and says what was found. */
export type Work = (settings: WorkSettings) => Promise<Finding[]>;
