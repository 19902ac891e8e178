/**
 * One run in its process: the engine's ports over the channel to the agent. Everything in here is new for each
 * run, and refuses to work after its end.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as startTimer } from 'node:timers';
import { setTimeout } from 'node:timers/promises';
import {
  PermanentFault,
  type QuickJsInstance,
  type QuickJsSource,
  type SharedPipelineUse,
} from '@headgate/pipelines';
import { getReason } from '../../log.ts';
import type { ScriptEnd, ScriptEvents, ScriptJob } from '../../scripts/script-job.ts';
import { longestTimer } from '../../time.ts';
import type { ArtifactFiles, RunOutcome, RunPorts, SecretSql, SharedVersion } from '../ports/ports.ts';
import type { RunCaches } from '../ports/run-caches.ts';
import {
  type ArtifactIndex,
  type OfRun,
  type Question,
  type QuestionName,
  type Questions,
  type RunStart,
  type SentArtifact,
  sessionLimit,
  type ToRun,
} from '../ports/run-messages.ts';
import { runBounds, runPipeline } from '../run/run.ts';
import type { GatheredMessages } from './gathered-messages.ts';

interface Process {
  createQuickJs: QuickJsSource;
  caches: RunCaches;
  indexes: ReadonlyMap<string, ArtifactIndex>;
  messages: GatheredMessages;
}

export interface RunningRun {
  readonly number: number;
  run(): Promise<{ outcome: RunOutcome; faults: string[] }>;
  receive(message: Exclude<ToRun, { type: 'start' }>): void;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

const over = 'the run has ended';

type Interruptible =
  | 'execute'
  | 'query'
  | 'script'
  | 'connector-page'
  | 'file-download'
  | 'file-convert'
  | 'store-list'
  | 'store-fetch'
  | 'store-remove'
  | 'store-stat'
  | 'store-send'
  | 'store-execute'
  | 'copy'
  | 'between-execute'
  | 'between-query';

export function createRunningRun(
  { run: number, start }: Extract<ToRun, { type: 'start' }>,
  process: Process,
): RunningRun {
  const waiting = new Map<number, Waiting>();
  /** The running scripts, by the id of the message that started each. */
  const scripts = new Map<number, ScriptEvents>();
  const faults: string[] = [];
  let lastId = 0;
  let hasEnded = false;
  let cancelled: Extract<ToRun, { type: 'cancel' }> | undefined;
  /** Ends waits of the run when it is cancelled. */
  const cancelling = new AbortController();

  const { messages } = process;
  function send(message: OfRun): void {
    if (!hasEnded) messages.send(message);
  }
  /** For what need not be known before the next message. */
  function tell(message: OfRun): void {
    if (!hasEnded) messages.tell(message);
  }

  /** What waits is sent before an expression, which may block the process. */
  async function createQuickJs(): Promise<QuickJsInstance> {
    const instance = await process.createQuickJs();
    const isUsable = () => {
      messages.flush();
      return instance.isUsable();
    };
    return { ...instance, isUsable };
  }

  function ask<Name extends QuestionName>(
    type: Name,
    question: Questions[Name]['question'],
    id = ++lastId,
  ): Promise<Questions[Name]['answer']> {
    if (hasEnded) return Promise.reject(new Error(over));
    return new Promise<unknown>((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      messages.send({ ...question, type, run: number, id } as Question);
    }) as Promise<Questions[Name]['answer']>;
  }

  /** @param limit interrupts what was asked for, which then fails */
  async function askWithin<Name extends Interruptible>(
    limit: AbortSignal | undefined,
    type: Name,
    question: Questions[Name]['question'],
    id = ++lastId,
  ): Promise<Questions[Name]['answer']> {
    const interrupt = () => send({ type: 'interrupt', run: number, questionId: id });
    limit?.throwIfAborted();
    limit?.addEventListener('abort', interrupt);
    try {
      return await ask(type, question, id);
    } finally {
      limit?.removeEventListener('abort', interrupt);
    }
  }

  async function runScript(job: ScriptJob, events: ScriptEvents, limit?: AbortSignal): Promise<ScriptEnd> {
    const id = ++lastId;
    scripts.set(id, events);
    try {
      return await askWithin(limit, 'script', { job }, id);
    } finally {
      scripts.delete(id);
    }
  }

  async function answerScript(message: Extract<ToRun, { type: 'script-request' }>): Promise<void> {
    const { script, request, question } = message;
    try {
      const json = (await scripts.get(script)?.answer(question)) ?? 'null';
      send({ type: 'script-answer', run: number, request, json });
    } catch (error) {
      send({ type: 'script-refusal', run: number, request, message: getReason(error) });
    }
  }

  function createFiles(artifact: number): ArtifactFiles {
    const { folder, digest, ignored } = start.artifacts[artifact] as SentArtifact;
    const index = process.indexes.get(digest);
    if (index === undefined) throw new Error(`the process has no index of the artifact ${digest}`);
    const digests = new Map(index.paths.map((path, place) => [path, index.digests[place] ?? '']));
    const has = (path: string) => digests.has(path);
    return {
      paths: index.paths,
      ignored: new Map(ignored.map(({ path, reason, line = 1 }) => [path, { reason, line }])),
      has,
      getDigest: (path) => digests.get(path) ?? '',
      place: (path) => (has(path) ? join(folder, path) : undefined),
      read: async (path) => (has(path) ? ask('artifact-text', { artifact, path }) : undefined),
      describe: (path) => ask('artifact-file', { artifact, path }),
      convert: (path, conversion, limit) =>
        askWithin(limit, 'file-convert', { source: { artifact, path }, conversion }),
      async openEndpoint(question) {
        const call = await ask('connector-open', { ...question, artifact });
        return {
          fetch: (page, limit) => askWithin(limit, 'connector-page', { call, page }),
          close: () => ask('connector-close', { call }),
        };
      },
    };
  }

  const ports: RunPorts = {
    warehouse: {
      execute: (sql, session, limit, secret) =>
        askWithin(limit, 'execute', { sql, ...nameSession(session), ...nameSecret(secret) }),
      async query(sql, maxRows, session, limit, secret) {
        const question = { sql, maxRows, ...nameSession(session), ...nameSecret(secret) };
        return JSON.parse(await askWithin(limit, 'query', question));
      },
      executeInStore: (sql, store, session, limit) =>
        askWithin(limit, 'store-execute', { sql, store, ...nameSession(session) }),
      copy: (sql, file, session, limit) => askWithin(limit, 'copy', { sql, file, ...nameSession(session) }),
    },
    between: {
      execute: (sql, _session, limit) => askWithin(limit, 'between-execute', { sql }),
      query: async (sql, maxRows, _session, limit) =>
        JSON.parse(await askWithin(limit, 'between-query', { sql, maxRows })),
    },
    sessions: sessionLimit,
    artifact: createFiles(0),
    secret: (name) => ask('secret', { name }),
    runScript,
    findShared: createSharedLookup(start.shared, createFiles),
    files: {
      find: (path) => ask('file-find', { path }),
      read: (path) => ask('file-text', { path }),
      list: (folder, recursive) => ask('file-list', { folder, recursive }),
      describe: (folder, paths) => ask('file-descriptions', { folder, paths }),
      beginWrite: (path) => ask('file-begin', { path }),
      append: (partial, text) => ask('file-append', { partial, text }),
      endWrite: (partial, isComplete) => ask('file-end', { partial, isComplete }),
    },
    download: (address, unpacks, limit) => askWithin(limit, 'file-download', { address, unpacks }),
    stores: {
      list: (place, limit, scope = 'all') => askWithin(limit, 'store-list', { place, scope }),
      fetch: (store, object, reading, limit) => askWithin(limit, 'store-fetch', { store, object, reading }),
      stat: (place, limit) => askWithin(limit, 'store-stat', { place }),
      send: (file, limit) => askWithin(limit, 'store-send', file),
      remove: (store, objects, limit) => askWithin(limit, 'store-remove', { store, objects }),
    },
    convert: (source, conversion, limit) => askWithin(limit, 'file-convert', { source, conversion }),
    enterScratch: () => ask('scratch', {}),
    createQuickJs,
    caches: process.caches,
    report: (step, ran) => tell({ type: 'step', run: number, step, ...(ran === undefined ? {} : { ran }) }),
    log: (line, source) =>
      tell({ type: 'line', run: number, line, source, timestamp: new Date().toISOString() }),
    recordVariables: (variables) => tell({ type: 'variables', run: number, variables }),
    isCancelled: () => cancelled !== undefined,
    getCanceller: () => cancelled?.requestedBy,
    now: () => new Date(),
    wait: (milliseconds, limit) => waitUnlessAborted(milliseconds, [cancelling.signal, limit]),
    startTimer(milliseconds, onTime) {
      const timer = startTimer(onTime, milliseconds);
      return () => clearTimeout(timer);
    },
    newId: () => randomUUID(),
    reportFault: (fault) => faults.push(fault),
  };

  return {
    number,
    async run() {
      const outcome = await runPipeline({ ...start.request, bounds: runBounds }, ports).catch(
        (error): RunOutcome => {
          faults.push('an error of the engine');
          return { status: 'FAILED', message: getReason(error) };
        },
      );
      hasEnded = true;
      if (waiting.size > 0) faults.push('questions without an answer');
      for (const asker of waiting.values()) asker.reject(new Error(over));
      waiting.clear();
      scripts.clear();
      return { outcome, faults };
    },
    receive(message) {
      if (message.type === 'cancel') {
        cancelled = message;
        cancelling.abort();
      } else if (message.type === 'script-line')
        scripts.get(message.script)?.onLine(message.stream, message.line);
      else if (message.type === 'script-request') void answerScript(message);
      else {
        const asker = waiting.get(message.id);
        waiting.delete(message.id);
        if (message.type === 'answer') asker?.resolve(message.value);
        else asker?.reject(createRefusal(message));
      }
    },
  };
}

function createSharedLookup(
  shared: RunStart['shared'],
  createFiles: (artifact: number) => ArtifactFiles,
): RunPorts['findShared'] {
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

async function waitUnlessAborted(milliseconds: number, signals: (AbortSignal | undefined)[]): Promise<void> {
  const signal = AbortSignal.any(signals.filter((each) => each !== undefined));
  await setTimeout(Math.min(milliseconds, longestTimer), undefined, { signal }).catch(() => undefined);
}

const createRefusal = ({ message, isPermanent }: { message: string; isPermanent?: true }): Error =>
  isPermanent ? new PermanentFault(message) : new Error(message);

const nameSession = (session: number | undefined) => (session === undefined ? {} : { session });
const nameSecret = (secret: SecretSql | undefined) => (secret === undefined ? {} : { secret });
