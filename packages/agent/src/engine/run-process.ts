/**
 * The agent's side of one run's process: a process group of its own, bounded memory, and no rights on the
 * file system but reading code and the artifacts and using the files folder (Node's permission model). Its
 * SQL and its secrets pass through here.
 */
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Secret, Step } from '@headgate/contract';
import { type Child, describeExit, startChild } from '../confinement/child-process.ts';
import type { Confinement } from '../confinement/confinement.ts';
import type { WatchedProcess } from '../confinement/memory-watch.ts';
import { getReason } from '../log.ts';
import type { RunOutcome, Warehouse } from './ports.ts';
import type { FromRun, PlacedArtifact, PlacedShared, RunStart, ToRun } from './run-messages.ts';

/**
 * A run's process speaks every second, whatever its SQL does; silent for longer, it is caught in one long
 * built-in of an expression.
 */
const silenceMilliseconds = 15_000;
const describeUnresponsive = (milliseconds: number) =>
  `an expression kept the run’s process busy for more than ${milliseconds / 1_000} s in one built-in function, and the process was killed: search or copy less at once`;

export interface RunOptions {
  request: RunStart['request'];
  artifact: PlacedArtifact;
  shared: readonly PlacedShared[];
  filesFolder: string;
  /** The process's working directory and home. */
  workFolder: string;
  /** The heap. */
  memoryMegabytes: number;
  /** The whole process. */
  processMegabytes: number;
  confinement: Confinement;
  warehouse: Warehouse;
  readSecret(name: string): Promise<Secret>;
  /** What the process says at its death without the secrets that it was given. */
  conceal(text: string): string;
  /** Graceful: the run ends after its running step. */
  cancel: AbortSignal;
  /** The whole process group is killed. */
  kill: AbortSignal;
  onStep(step: Step): void;
  onLine(line: string): void;
  /** 15 s unless it is given. */
  silenceMilliseconds?: number;
}

/**
 * Runs a pipeline in a process of its own. A process that dies is a run that FAILED, with a message that says
 * how it died.
 *
 * @throws the reason of `kill`, once no process of the run is left.
 */
export async function runInProcess(options: RunOptions): Promise<RunOutcome> {
  options.kill.throwIfAborted();
  const child = startChild(new URL('./child.ts', import.meta.url), {
    launcher: options.confinement.launcher,
    execArgv: [
      '--disable-warning=ExperimentalWarning',
      `--max-old-space-size=${options.memoryMegabytes}`,
      ...listPermissions(options),
    ],
    home: options.workFolder,
  });
  const memory = options.confinement.memory.watch(child.process.pid, options.processMegabytes);
  const cancel = () => send(child, { type: 'cancel' });
  const kill = () => child.kill();
  options.kill.addEventListener('abort', kill);
  options.cancel.addEventListener('abort', cancel);
  try {
    const outcome = await converse(child, memory, options);
    options.kill.throwIfAborted();
    return outcome;
  } finally {
    memory.end();
    options.kill.removeEventListener('abort', kill);
    options.cancel.removeEventListener('abort', cancel);
  }
}

function converse(child: Child, memory: WatchedProcess, options: RunOptions): Promise<RunOutcome> {
  return new Promise((resolve) => {
    let outcome: RunOutcome | undefined;
    const limit = options.silenceMilliseconds ?? silenceMilliseconds;
    const watch = setInterval(() => {
      if (performance.now() - heardAt < limit) return;
      outcome = { status: 'FAILED', message: describeUnresponsive(limit) };
      child.kill();
    }, 1_000);
    let heardAt = performance.now();
    child.process.on('message', (message: FromRun) => {
      heardAt = performance.now();
      if (message.type === 'alive') return;
      if (message.type === 'step') options.onStep(message.step);
      else if (message.type === 'line') options.onLine(message.line);
      else if (message.type === 'finished') {
        outcome = message.outcome;
        // It has nothing left to do, and whatever it may have started ends with it.
        child.kill();
      } else void answerRequest(child, options, message);
    });
    child.process.once('error', (error) => {
      clearInterval(watch);
      resolve({ status: 'FAILED', message: `the run’s process could not be started: ${error.message}` });
    });
    // Whatever it may have started ends with it, and lets go of its pipes.
    child.process.once('exit', () => child.kill());
    // On a busy machine its exit is seen before its last words are read; at its close all have been.
    child.process.once('close', (code, signal) => {
      clearInterval(watch);
      const message = () =>
        memory.exceeded ? describeMemoryDeath(options) : describeDeath(child, code, signal, options);
      resolve(outcome ?? { status: 'FAILED', message: message() });
    });
    send(child, {
      type: 'start',
      start: {
        request: options.request,
        artifact: options.artifact,
        shared: options.shared,
        filesFolder: options.filesFolder,
      },
    });
    if (options.cancel.aborted) send(child, { type: 'cancel' });
  });
}

async function answerRequest(
  child: Child,
  options: RunOptions,
  message: Extract<FromRun, { id: number }>,
): Promise<void> {
  const { id } = message;
  try {
    send(child, { type: 'answer', id, value: await carryOut(options, message) });
  } catch (error) {
    send(child, { type: 'refusal', id, message: getReason(error) });
  }
}

async function carryOut(
  { warehouse, readSecret }: RunOptions,
  message: Extract<FromRun, { id: number }>,
): Promise<unknown> {
  switch (message.type) {
    case 'execute':
      return warehouse.execute(message.sql);
    case 'query':
      return warehouse.query(message.sql, message.maxRows);
    case 'secret':
      return (await readSecret(message.name)).reveal();
  }
}

function send(child: Child, message: ToRun): void {
  // A failed send means that the process is ending, which its exit tells.
  if (child.process.connected) child.process.send(message, () => undefined);
}

function describeMemoryDeath({ processMegabytes }: RunOptions): string {
  return `the run’s process took more than ${processMegabytes} MB of memory and was ended: make its variables smaller, or raise HEADGATE_AGENT_RUN_PROCESS_MEMORY_MB of the agent; its running step may have had effects`;
}

function describeDeath(
  child: Child,
  code: number | null,
  signal: NodeJS.Signals | null,
  { memoryMegabytes, conceal }: RunOptions,
): string {
  const said = conceal(child.stderrTail().trim());
  if (/heap out of memory|heap limit/i.test(said)) {
    return `the run needed more than ${memoryMegabytes} MB of memory and was ended: make its variables smaller, or raise HEADGATE_AGENT_RUN_MEMORY_MB of the agent`;
  }
  const last = said
    .split('\n')
    .findLast((line) => /error/i.test(line))
    ?.trim();
  return `the run’s process ${describeExit(code, signal)}${last ? ` (${last.slice(0, 500)})` : ''}; its running step may have had effects`;
}

function listPermissions(options: RunOptions): string[] {
  const shared = options.shared.flatMap((one) => ('artifact' in one ? [one.artifact.folder] : []));
  const readable = [...findCodeFolders(), options.artifact.folder, ...new Set(shared), options.filesFolder];
  return [
    '--permission',
    ...readable.map((folder) => `--allow-fs-read=${folder}`),
    `--allow-fs-write=${options.filesFolder}`,
  ];
}

let folders: readonly string[] | undefined;

/**
 * Where the engine's modules lie: this package, those that it imports, and every `node_modules` that
 * resolution looks into.
 */
function findCodeFolders(): readonly string[] {
  if (folders) return folders;
  const own = dirname(dirname(dirname(realpathSync(fileURLToPath(import.meta.url)))));
  const found = new Set([own]);
  for (const name of ['@headgate/contract', '@headgate/pipelines']) {
    found.add(dirname(dirname(realpathSync(fileURLToPath(import.meta.resolve(name))))));
  }
  for (let folder = own; folder !== dirname(folder); folder = dirname(folder)) {
    const modules = join(folder, 'node_modules');
    if (existsSync(modules)) found.add(modules);
  }
  folders = [...found];
  return folders;
}
