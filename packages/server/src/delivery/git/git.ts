/**
 * The git program, confined. Everything that runs git goes through `Git` (docs/adr/0063).
 *
 * Terminology
 *   repository  a bare repository in a folder of ours. Its configuration is ours: it is rewritten before each use
 *   call        one process of git, with a time limit and a limit of its output
 *   turn        a place among the processes of git; an account has a few, the server some more
 */
import type { Readable, Writable } from 'node:stream';

/** How git reaches another host: through the server's relay, which knows the credential (docs/adr/0064). */
export interface RemoteAccess {
  /** The address that git is given. */
  url: string;
  /** Added to the environment of git: the secret of the relay's session. */
  environment: Readonly<Record<string, string>>;
}

export interface GitCall {
  /** The bare repository, or another folder that `makeFolder` created. The working directory of git. */
  folder: string;
  /** Whose turn it takes. */
  accountId: string;
  /** `long`: it lasts as long as a client of a network; such calls take turns of their own. */
  kind?: 'short' | 'long';
  /**
   * Nobody waits for it: it gets the processors when requests leave them free. Other `long` calls get fewer of them.
   */
  isBackground?: boolean;
  stdin?: string | Uint8Array | Readable;
  timeoutMilliseconds?: number;
  /** More standard output than this ends the call with `git-answer-too-large`. */
  mostOutputBytes?: number;
  /** The output is cut at `mostOutputBytes` instead; the result says so. */
  cutsOutput?: boolean;
  remote?: RemoteAccess;
  /** Permits paths of other folders of ours as remotes. */
  local?: boolean;
  /** Added to the environment, such as GIT_INDEX_FILE. */
  environment?: Readonly<Record<string, string>>;
  /** Ends the call. */
  signal?: AbortSignal | undefined;
}

export interface GitResult {
  code: number;
  stdout: Buffer;
  /** At most 16 KiB, without addresses, paths and credentials. */
  stderr: string;
  isCut: boolean;
}

/** A process whose standard input and output are read and written by the caller. */
export interface GitProcess {
  stdin: Writable;
  stdout: Readable;
  /** Resolves when the process has ended. `code` is undefined if a signal ended it. */
  ended: Promise<{ code: number | undefined; stderr: string }>;
  /** Ends the process and those that it started. */
  kill(): void;
}

export interface Git {
  /** Looks for git at the first use. With a fault, every call throws `git-missing`. */
  check(): Promise<{ version: string } | { fault: string }>;
  /**
   * Runs git to its end, whatever its exit code is.
   * @throws problems `git-missing`, `git-busy`, `git-timeout`, `git-answer-too-large`
   */
  run(args: readonly string[], call: GitCall): Promise<GitResult>;
  /** Starts git; the turn is held until the process has ended. @throws `git-missing`, `git-busy` */
  spawn(args: readonly string[], call: GitCall): Promise<GitProcess>;
  /** Creates a folder, and its parents, that belongs to the user of git. */
  makeFolder(path: string): Promise<void>;
  /** Writes a file that belongs to the user of git; an existing one is left as it is. */
  writeFile(path: string, content: string): Promise<void>;
  /** Creates an empty bare repository; an existing one is left as it is. */
  makeRepository(folder: string, options?: { defaultBranch?: string }): Promise<void>;
  /**
   * Creates an empty folder for temporary files, which is removed when git is first used after the next start, at the
   * latest.
   */
  makeScratch(): Promise<Scratch>;
}

export interface Scratch {
  folder: string;
  remove(): Promise<void>;
}
