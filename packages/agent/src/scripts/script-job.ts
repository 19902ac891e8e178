/**
 * What a run asks of the agent's scripts.
 *
 * - **job**: one script with the variables that it sees.
 * - **request**: what a running Python script asks for; the engine answers, because it owns the variables and
 *   the session with the warehouse.
 */

export type ScriptLanguage = 'python' | 'bash';

export interface ScriptScalar {
  name: string;
  type: 'TEXT' | 'NUMBER';
  value: string | number | null;
}

export interface ScriptGrid {
  name: string;
  rows: readonly (readonly (string | number | null)[])[];
}

export interface ScriptJob {
  /** The type of the component, for messages. */
  component: string;
  language: ScriptLanguage;
  text: string;
  scalars: readonly ScriptScalar[];
  /** Only Python scripts see them. */
  grids: readonly ScriptGrid[];
  /** Python packages that must be installed. */
  packages: readonly string[];
  /** The component's own time limit; undefined: the agent's. */
  timeoutSeconds: number | undefined;
}

export type ScriptRequest =
  | { type: 'update-scalar'; name: string; value: string | null }
  | { type: 'update-grid'; name: string; rows: unknown[] }
  | { type: 'sql'; sql: string };

/** A long request is read only by the run's process: its objects may take much more memory than its text. */
export type SentRequest = ScriptRequest | { type: 'unread'; text: string };

export type ScriptStream = 'stdout' | 'stderr';

export interface ScriptEvents {
  onLine(stream: ScriptStream, line: string): void;
  /**
   * @returns JSON: the process of the run writes it, because writing many rows would hold up the agent's loop
   * @throws Error whose message the script gets
   */
  answer(request: SentRequest): Promise<string>;
}

/** `message`: why it failed, or what the script returned. What it printed was reported by line. */
export interface ScriptEnd {
  succeeded: boolean;
  message: string | undefined;
}

/** `limit`: kills the script when it is aborted. */
export type RunScript = (job: ScriptJob, events: ScriptEvents, limit?: AbortSignal) => Promise<ScriptEnd>;
