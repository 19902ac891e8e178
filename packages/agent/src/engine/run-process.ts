/**
 * The agent's side of a run's process. The process has its own process group and a memory limit. Node's
 * permission model lets it read only code, artifacts and the files folder, and write only the files folder.
 * Its SQL and its secrets pass through here.
 */
import type { RunVariables, Secret, Step } from '@headgate/contract';
import { getCanceller } from '../cancellation.ts';
import { type Child, describeExit, startChild } from '../confinement/child-process.ts';
import { findCodeFolders } from '../confinement/code-folders.ts';
import type { Confinement } from '../confinement/confinement.ts';
import type { WatchedProcess } from '../confinement/memory-watch.ts';
import { getReason } from '../log.ts';
import type { LogSource, RunOutcome, Warehouse } from './ports.ts';
import type { FromRun, PlacedArtifact, PlacedShared, RunStart, ToRun } from './run-messages.ts';
import { createRunScripts, type RunScripts, type StartScript } from './run-scripts.ts';

/**
 * A run's process sends a message every second, even while SQL runs. If it is silent for longer, an
 * expression blocks it in a built-in function.
 */
const silenceMilliseconds = 15_000;
const describeUnresponsive = (milliseconds: number) =>
  `an expression blocked the run’s process for more than ${milliseconds / 1_000} s in a built-in function, and the process was killed: search or copy less data in one call`;

export interface RunOptions {
  request: RunStart['request'];
  artifact: PlacedArtifact;
  shared: readonly PlacedShared[];
  filesFolder: string;
  /** Of a test: the environment's folder, from which it may read too. */
  environmentFilesFolder?: string;
  /** The working directory and home of the process. */
  workFolder: string;
  /** Limit of the JavaScript heap. */
  memoryMegabytes: number;
  /** Limit of the whole process. */
  processMegabytes: number;
  confinement: Confinement;
  warehouse: Warehouse;
  readSecret(name: string): Promise<Secret>;
  /** Puts the SQL of the run into a scratch database. Returns the folder for its files, below `filesFolder`. */
  enterScratch(): Promise<string>;
  runScript: StartScript;
  /** Removes the run's secrets from the last output of the process. */
  conceal(text: string): string;
  /** Graceful: the run ends after the running steps. */
  cancel: AbortSignal;
  /** Kills the process group. */
  kill: AbortSignal;
  onStep(step: Step): void;
  onLine(line: string, source: LogSource, timestamp: string): void;
  onVariables(variables: RunVariables): void;
  /** Default: 15 s. */
  silenceMilliseconds?: number;
}

/**
 * Runs a pipeline in its own process. If the process dies, the run is FAILED with a message that says how.
 *
 * @throws the reason of `kill`, after all processes of the run are gone.
 */
export async function runInProcess(options: RunOptions): Promise<RunOutcome> {
  options.kill.throwIfAborted();
  const child = startChild(new URL('./child.ts', import.meta.url), {
    launcher: findLauncher(options),
    execArgv: [
      '--disable-warning=ExperimentalWarning',
      `--max-old-space-size=${options.memoryMegabytes}`,
      ...listPermissions(options),
    ],
    home: options.workFolder,
  });
  const memory = options.confinement.memory.watch(child.process.pid, options.processMegabytes);
  const scripts = createRunScripts(options.runScript, (message) => send(child, message));
  const cancel = () => sendCancel(child, options);
  const kill = () => child.kill();
  options.kill.addEventListener('abort', kill);
  options.cancel.addEventListener('abort', cancel);
  try {
    const outcome = await converse(child, memory, scripts, options);
    options.kill.throwIfAborted();
    return outcome;
  } finally {
    await scripts.close();
    memory.end();
    options.kill.removeEventListener('abort', kill);
    options.cancel.removeEventListener('abort', cancel);
  }
}

function converse(
  child: Child,
  memory: WatchedProcess,
  scripts: RunScripts,
  options: RunOptions,
): Promise<RunOutcome> {
  return new Promise((resolve) => {
    let outcome: RunOutcome | undefined;
    const limit = options.silenceMilliseconds ?? silenceMilliseconds;
    const watch = setInterval(() => {
      if (performance.now() - lastMessageAt < limit) return;
      outcome = { status: 'FAILED', message: describeUnresponsive(limit) };
      child.kill();
    }, 1_000);
    let lastMessageAt = performance.now();
    const interrupts = new Map<number, AbortController>();
    child.process.on('message', (message: FromRun) => {
      lastMessageAt = performance.now();
      if (message.type === 'alive') return;
      if (message.type === 'step') options.onStep(message.step);
      else if (message.type === 'line') options.onLine(message.line, message.source, message.timestamp);
      else if (message.type === 'variables') options.onVariables(message.variables);
      else if (message.type === 'finished') {
        outcome = message.outcome;
        // The run is over. Kill the group to end processes that it may have started.
        child.kill();
      } else if ('request' in message) scripts.settle(message);
      else if (message.type === 'interrupt') interrupts.get(message.asked)?.abort();
      else void answerRequest(child, scripts, options, interrupts, message);
    });
    child.process.once('error', (error) => {
      clearInterval(watch);
      resolve({ status: 'FAILED', message: `the run’s process could not be started: ${error.message}` });
    });
    // Ends processes that it may have started, so that they close its pipes.
    child.process.once('exit', () => child.kill());
    // On a busy machine `exit` may come before the last output is read; `close` comes after it.
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
        ...(options.environmentFilesFolder === undefined
          ? {}
          : { environmentFilesFolder: options.environmentFilesFolder }),
      },
    });
    if (options.cancel.aborted) sendCancel(child, options);
  });
}

function sendCancel(child: Child, { cancel }: RunOptions): void {
  send(child, { type: 'cancel', requestedBy: getCanceller(cancel) });
}

async function answerRequest(
  child: Child,
  scripts: RunScripts,
  options: RunOptions,
  interrupts: Map<number, AbortController>,
  message: Extract<FromRun, { id: number }>,
): Promise<void> {
  const { id } = message;
  const interrupt = new AbortController();
  interrupts.set(id, interrupt);
  try {
    const value = await carryOut(options, scripts, message, interrupt.signal);
    send(child, { type: 'answer', id, value });
  } catch (error) {
    send(child, { type: 'refusal', id, message: getReason(error) });
  } finally {
    interrupts.delete(id);
  }
}

async function carryOut(
  { warehouse, readSecret, enterScratch }: RunOptions,
  scripts: RunScripts,
  message: Extract<FromRun, { id: number }>,
  interrupt: AbortSignal,
): Promise<unknown> {
  switch (message.type) {
    case 'execute':
      return warehouse.execute(message.sql, interrupt);
    case 'query':
      return warehouse.query(message.sql, message.maxRows, interrupt);
    case 'secret':
      return (await readSecret(message.name)).reveal();
    case 'scratch':
      return enterScratch();
    case 'script':
      return scripts.run(message.id, message.job, interrupt);
  }
}

function send(child: Child, message: ToRun): void {
  // A failed send means that the process is ending; its exit is handled elsewhere.
  if (child.process.connected) child.process.send(message, () => undefined);
}

function describeMemoryDeath({ processMegabytes }: RunOptions): string {
  return `the run’s process exceeded its limit of ${processMegabytes} MB of memory and was killed: use smaller variables, or raise HEADGATE_AGENT_RUN_PROCESS_MEMORY_MB of the agent; the running step may have had effects`;
}

function describeDeath(
  child: Child,
  code: number | null,
  signal: NodeJS.Signals | null,
  { memoryMegabytes, conceal }: RunOptions,
): string {
  const output = conceal(child.stderrTail().trim());
  if (/heap out of memory|heap limit/i.test(output)) {
    return `the run exceeded its limit of ${memoryMegabytes} MB of JavaScript memory and was killed: use smaller variables, or raise HEADGATE_AGENT_RUN_MEMORY_MB of the agent`;
  }
  const last = output
    .split('\n')
    .findLast((line) => /error/i.test(line))
    ?.trim();
  return `the run’s process ${describeExit(code, signal)}${last ? ` (${last.slice(0, 500)})` : ''}; the running step may have had effects`;
}

function listPermissions(options: RunOptions): string[] {
  const readable = [...findCodeFolders(), ...listReadable(options)];
  return [
    '--permission',
    ...readable.map((folder) => `--allow-fs-read=${folder}`),
    `--allow-fs-write=${options.filesFolder}`,
  ];
}

/** The files of a test are below the environment's; Node.js does not take both. */
function listReadable({ artifact, shared, filesFolder, environmentFilesFolder }: RunOptions): string[] {
  const ofShared = shared.flatMap((one) => ('artifact' in one ? [one.artifact.folder] : []));
  return [artifact.folder, ...new Set(ofShared), environmentFilesFolder ?? filesFolder];
}

function findLauncher(options: RunOptions): readonly string[] {
  const { confinement, filesFolder } = options;
  return [
    ...confinement.launcher,
    ...confinement.limitFolders({
      readable: listReadable(options),
      writable: [filesFolder],
    }),
  ];
}
