/** What the agent and the process of one DuckDB database say to each other over IPC. */

export interface DatabaseSettings {
  databaseFile: string;
  /** The only folders, besides the temporary one, that SQL may read; writing is up to the file system. */
  allowedFolders: string[];
  /** Belongs to DuckDB, which lets SQL into it. */
  temporaryFolder: string;
  /** One of the allowed folders; relative paths begin there. */
  filesFolder: string;
  memoryMegabytes: number;
  threads: number;
  temporaryMegabytes: number;
}

/** `open`, `execute`, `query` and `close` are answered under their id; `interrupt` and `end` are not. */
export type DatabaseRequest =
  | { type: 'start'; settings: DatabaseSettings }
  | { type: 'open'; id: number; connection: number }
  | { type: 'execute'; id: number; connection: number; sql: string }
  | { type: 'query'; id: number; connection: number; sql: string; maxRows: number }
  | { type: 'close'; id: number; connection: number }
  | { type: 'end' };

export type DatabaseMessage =
  | { type: 'ready' }
  | { type: 'failed'; message: string }
  | { type: 'answer'; id: number; value: unknown }
  | { type: 'refusal'; id: number; message: string };
