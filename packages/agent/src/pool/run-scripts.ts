/**
 * The agent's side of the scripts of one run: passes lines and requests of a script to the run's process, and
 * its answers back. No script outlives the run.
 */
import type { FromRun } from '../engine/ports/run-messages.ts';
import type { ScriptEnd, ScriptEvents, ScriptJob, ScriptStream, SentRequest } from '../scripts/script-job.ts';

export type StartScript = (job: ScriptJob, events: ScriptEvents, kill: AbortSignal) => Promise<ScriptEnd>;

export interface RunScripts {
  /**
   * @param id of the message that asks for it
   * @param interrupt kills the script
   */
  run(id: number, job: ScriptJob, interrupt: AbortSignal): Promise<ScriptEnd>;
  /** @throws Error if nothing was asked */
  settle(answer: Extract<FromRun, { request: number }>): void;
  /** Kills all scripts of the run. Resolves when none of their processes is left. */
  close(): Promise<void>;
}

interface Waiting {
  resolve(json: string): void;
  reject(error: Error): void;
}

/** Messages to the scripts' engine, without the number of the run. */
type ToScript =
  | { type: 'script-line'; script: number; stream: ScriptStream; line: string }
  | { type: 'script-request'; script: number; request: number; question: SentRequest };

export function createRunScripts(start: StartScript, send: (message: ToScript) => void): RunScripts {
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  const waiting = new Map<number, Waiting>();
  let lastRequest = 0;

  function ask(script: number, asked: SentRequest): Promise<string> {
    const requestId = ++lastRequest;
    return new Promise((resolve, reject) => {
      waiting.set(requestId, { resolve, reject });
      send({ type: 'script-request', script, request: requestId, question: asked });
    });
  }

  return {
    async run(id, job, interrupt) {
      const script = start(
        job,
        {
          onLine: (stream, line) => send({ type: 'script-line', script: id, stream, line }),
          answer: (query) => ask(id, query),
        },
        AbortSignal.any([closing.signal, interrupt]),
      );
      running.add(script);
      try {
        return await script;
      } finally {
        running.delete(script);
      }
    },
    settle(answer) {
      const asker = waiting.get(answer.request);
      if (asker === undefined) throw new Error('an answer to a request of no script');
      waiting.delete(answer.request);
      if (answer.type === 'script-answer') asker.resolve(answer.json);
      else asker.reject(new Error(answer.message));
    },
    async close() {
      if (running.size === 0) return;
      closing.abort();
      for (const asker of waiting.values()) asker.reject(new Error('the run has ended'));
      await Promise.allSettled(running);
    },
  };
}
