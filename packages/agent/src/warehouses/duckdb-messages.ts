/** The IPC messages between the agent and the process of a DuckDB database. */

import type { ReadBounds } from './warehouse.ts';

export interface DatabaseSettings {
  databaseFile: string;
  /** The folders that SQL may access, besides the temporary one. File modes decide about writing. */
  allowedFolders: string[];
  /** DuckDB spills here. SQL can access it too. */
  temporaryFolder: string;
  /** One of the allowed folders; the base of relative paths. */
  filesFolder: string;
  memoryMegabytes: number;
  /** Above it, the process is killed. */
  processMegabytes: number;
  threads: number;
  temporaryMegabytes: number;
}

/** The connection is for a test: its writes land in a database of its own, its files in this folder. */
export interface ScratchRequest {
  filesFolder: string;
}

/**
 * `open`, `enter-scratch`, `execute`, `query`, `read` and `close` are answered with their id; the others are not. The
 * first of a connection opens it; `open` also checks that the database works. `enter-scratch` is before all statements.
 * A number is not used again after its end, which is `close`, or `leave` if no statement runs or waits.
 */
export type DatabaseRequest =
  | { type: 'start'; settings: DatabaseSettings }
  | { type: 'open'; id: number; connection: number }
  | { type: 'enter-scratch'; id: number; connection: number; scratch: ScratchRequest }
  | { type: 'execute'; id: number; connection: number; sql: string }
  | { type: 'query'; id: number; connection: number; sql: string; maxRows: number }
  | { type: 'read'; id: number; connection: number; sql: string; bounds: ReadBounds }
  | { type: 'close'; id: number; connection: number }
  | { type: 'leave'; connection: number }
  /** `statement`: the id of an `execute`, `query` or `read`, which is then answered as failed, unless it has ended. */
  | { type: 'interrupt'; connection: number; statement: number }
  | { type: 'end' };

export type DatabaseMessage =
  | { type: 'ready' }
  | { type: 'failed'; message: string }
  | { type: 'answer'; id: number; value: unknown }
  | { type: 'refusal'; id: number; message: string };
