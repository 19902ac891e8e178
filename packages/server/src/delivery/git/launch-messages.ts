/** What the server and its launcher of git say to each other. */

export interface Launch {
  /** The program and its arguments. */
  words: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Undefined: the user of the launcher. */
  user: { uid: number; gid: number } | undefined;
  /** As of nice(1): 0 is the usual one, 19 the lowest. */
  niceness: number;
}

export type LauncherRequest =
  | { kind: 'start'; id: string; launch: Launch }
  /** Ends a program and those that it started. */
  | { kind: 'kill'; id: string };

/** The program has ended, or could not be started (`fault`). Code null: a signal ended it. */
export interface LauncherReport {
  id: string;
  code: number | null;
  fault?: string;
}

/** The name of a connection, which it sends first: `0`, `1` or `2`, and the id of the start. */
export const nameOfConnection = (descriptor: number, id: string) => `${descriptor}${id}`;
export const nameBytes = 1 + 36;
