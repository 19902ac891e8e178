/**
 * The entry point of a run's process, started by `run-process.ts`. It provides the engine's ports: SQL,
 * secrets, steps and log lines go to the agent over IPC, and files are read from the sealed artifacts. The
 * process exits with the run or with the agent.
 */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as startTimer } from 'node:timers';
import { setTimeout } from 'node:timers/promises';
import type { SharedPipelineUse } from '@headgate/pipelines';
import { getReason } from '../log.ts';
import type { ScriptEnd, ScriptEvents, ScriptJob } from '../scripts/script-job.ts';
import type { ArtifactFiles, RunOutcome, RunPorts, SharedVersion, Warehouse } from './ports.ts';
import { runBounds, runPipeline } from './run.ts';
import type { FromRun, PlacedArtifact, PlacedShared, RunStart, ToRun } from './run-messages.ts';

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

const waiting = new Map<number, Waiting>();
/** The running scripts, by the id of the message that started each. */
const scripts = new Map<number, ScriptEvents>();
let lastId = 0;
let cancelled: Extract<ToRun, { type: 'cancel' }> | undefined;
/** Ends waits of the run when it is cancelled. */
const cancelling = new AbortController();

function send(message: FromRun, sent?: () => void): void {
  process.send?.(message, undefined, undefined, () => sent?.());
}

type Question =
  | { type: 'execute'; sql: string }
  | { type: 'query'; sql: string; maxRows: number }
  | { type: 'secret'; name: string }
  | { type: 'scratch' }
  | { type: 'script'; job: ScriptJob };

async function ask(message: Question, limit?: AbortSignal, id = ++lastId): Promise<unknown> {
  const interrupt = () => send({ type: 'interrupt', asked: id });
  limit?.throwIfAborted();
  limit?.addEventListener('abort', interrupt);
  try {
    return await new Promise<unknown>((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      send({ ...message, id });
    });
  } finally {
    limit?.removeEventListener('abort', interrupt);
  }
}

const warehouse: Warehouse = {
  execute: async (sql, limit) => (await ask({ type: 'execute', sql }, limit)) as { rowCount: number },
  query: async (sql, maxRows, limit) =>
    (await ask({ type: 'query', sql, maxRows }, limit)) as { columns: string[]; rows: unknown[][] },
};

async function runScript(job: ScriptJob, events: ScriptEvents, limit?: AbortSignal): Promise<ScriptEnd> {
  const id = ++lastId;
  scripts.set(id, events);
  try {
    return (await ask({ type: 'script', job }, limit, id)) as ScriptEnd;
  } finally {
    scripts.delete(id);
  }
}

async function answerScript({
  script,
  request,
  asked,
}: Extract<ToRun, { type: 'script-request' }>): Promise<void> {
  try {
    send({ type: 'script-answer', request, value: await scripts.get(script)?.answer(asked) });
  } catch (error) {
    send({ type: 'script-refusal', request, message: getReason(error) });
  }
}

function createPorts(start: RunStart): RunPorts {
  return {
    warehouse,
    artifact: createFiles(start.artifact),
    secret: async (name) => (await ask({ type: 'secret', name })) as string,
    runScript,
    findShared: createSharedLookup(start.shared),
    filesFolder: start.filesFolder,
    ...(start.environmentFilesFolder === undefined
      ? {}
      : { environmentFilesFolder: start.environmentFilesFolder }),
    enterScratch: async () => (await ask({ type: 'scratch' })) as string,
    report: (step) => send({ type: 'step', step }),
    log: (line, source) => send({ type: 'line', line, source, timestamp: new Date().toISOString() }),
    recordVariables: (variables) => send({ type: 'variables', variables }),
    isCancelled: () => cancelled !== undefined,
    getCanceller: () => cancelled?.requestedBy,
    now: () => new Date(),
    wait: (milliseconds, limit) => waitUnlessAborted(milliseconds, [cancelling.signal, limit]),
    startTimer(milliseconds, onTime) {
      const timer = startTimer(onTime, milliseconds);
      return () => clearTimeout(timer);
    },
    newId: () => randomUUID(),
  };
}

async function waitUnlessAborted(milliseconds: number, signals: (AbortSignal | undefined)[]): Promise<void> {
  const signal = AbortSignal.any(signals.filter((each) => each !== undefined));
  await setTimeout(milliseconds, undefined, { signal }).catch(() => undefined);
}

function createFiles({ folder, paths, ignored }: PlacedArtifact): ArtifactFiles {
  const known = new Set(paths);
  const place = (path: string) => (known.has(path) ? join(folder, path) : undefined);
  return {
    paths,
    ignored: new Map(ignored.map(({ path, reason, line = 1 }) => [path, { reason, line }])),
    place,
    async read(path) {
      const file = place(path);
      return file === undefined ? undefined : readFile(file, 'utf8');
    },
  };
}

function createSharedLookup(shared: readonly PlacedShared[]): RunPorts['findShared'] {
  const getKey = ({ prefix, versionName }: SharedPipelineUse) => JSON.stringify([prefix, versionName]);
  const chosen = new Map(
    shared.map((one): [string, SharedVersion] => [
      getKey(one.use),
      'fault' in one
        ? { fault: one.fault }
        : { versionName: one.versionName, files: createFiles(one.artifact) },
    ]),
  );
  return (use) => chosen.get(getKey(use));
}

async function run(start: RunStart): Promise<RunOutcome> {
  try {
    return await runPipeline({ ...start.request, bounds: runBounds }, createPorts(start));
  } catch (error) {
    return { status: 'FAILED', message: getReason(error) };
  }
}

function settle(message: Extract<ToRun, { id: number }>): void {
  const asker = waiting.get(message.id);
  waiting.delete(message.id);
  if (message.type === 'answer') asker?.resolve(message.value);
  else asker?.reject(new Error(message.message));
}

setInterval(() => send({ type: 'alive' }), 1_000).unref();
process.on('disconnect', () => process.exit(1));
process.on('message', (message: ToRun) => {
  if (message.type === 'cancel') {
    cancelled = message;
    cancelling.abort();
  } else if (message.type === 'start') {
    void run(message.start).then((outcome) => send({ type: 'finished', outcome }, () => process.exit(0)));
  } else if (message.type === 'script-line')
    scripts.get(message.script)?.onLine(message.stream, message.line);
  else if (message.type === 'script-request') void answerScript(message);
  else settle(message);
});
