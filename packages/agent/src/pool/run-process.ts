/**
 * One process of runs. It has its own process group and a memory limit, no network, and after its start no
 * right to files. It does one run at a time, all of one environment.
 */

import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { type Child, describeExit, startChild } from '../confinement/child-process.ts';
import type { Confinement } from '../confinement/confinement.ts';
import type { WatchedProcess } from '../confinement/memory-watch.ts';
import type { RunOutcome } from '../engine/ports/ports.ts';
import type {
  FromRun,
  OfRun,
  PlacedArtifact,
  RunStart,
  SentShared,
  ToRun,
} from '../engine/ports/run-messages.ts';
import type { RetirementBounds } from './bounds.ts';
import { type Conversation, createConversation } from './conversation.ts';
import type { RunOptions } from './run-options.ts';

/** Resident memory, without the code of Node.js, which all processes share. */
function readMegabytes(pid: number | undefined): number {
  try {
    const [, resident = 0, shared = 0] = readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ').map(Number);
    return ((resident - shared) * 4_096) / 1_048_576;
  } catch {
    return 0;
  }
}

/** Whether its main thread has started a process that lives. */
function hasChildren(pid: number | undefined): boolean {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim() !== '';
  } catch {
    return false;
  }
}

export interface RunProcessSettings {
  /** The bundle of its code. */
  code: string;
  confinement: Confinement;
  /** The working directory and home of the process. */
  workFolder: string;
  /** Limit of the JavaScript heap. */
  memoryMegabytes: number;
  /** Limit of the whole process. */
  processMegabytes: number;
  bounds: RetirementBounds;
}

/** The process died before it began the run, which may be given to another one. */
export class ProcessGone extends Error {
  override message = 'the run’s process ended before it began the run';
}

/** Artifacts whose index a process keeps. */
const keptIndexes = 50;
const startMilliseconds = 60_000;

export class RunProcess {
  readonly #settings: RunProcessSettings;
  readonly #child: Child;
  readonly #memory: WatchedProcess;
  /** Resolves when the process is gone. */
  readonly ended: Promise<void>;
  /** Resolves when it can take a run. Rejects if it ends before. */
  readonly ready: Promise<void>;
  readonly #ready = Promise.withResolvers<void>();
  #death: (() => string) | undefined;
  #environment: string | undefined;
  #firstRunAt: number | undefined;
  #runs = 0;
  #conversation: Conversation | undefined;
  #options: RunOptions | undefined;
  /** Seconds since its last message. */
  #silence = 0;
  #megabytes = 0;
  #retired: string | undefined;
  readonly #sent = new Set<string>();

  constructor(settings: RunProcessSettings) {
    this.#settings = settings;
    const { code, confinement, memoryMegabytes, processMegabytes, workFolder } = settings;
    this.#child = startChild(pathToFileURL(code), {
      // It reads no file but its code, and writes none.
      launcher: [...confinement.launcher, ...confinement.limitFolders({ readable: [code], writable: [] })],
      execArgv: [
        '--disable-warning=ExperimentalWarning',
        `--max-old-space-size=${memoryMegabytes}`,
        '--disallow-code-generation-from-strings',
        '--permission',
        `--allow-fs-read=${code}`,
      ],
      home: workFolder,
    });
    this.#memory = confinement.memory.watch(this.#child.process.pid, processMegabytes);
    this.ready = this.#ready.promise;
    // Avoids an unhandled rejection if nothing waits for it.
    this.ready.catch(() => undefined);
    const late = setTimeout(() => this.kill(), startMilliseconds);
    this.#child.process.on('message', (message: FromRun) => this.#receive(message));
    this.ended = new Promise((resolve) => {
      const gone = (describe: () => string) => {
        clearTimeout(late);
        this.#memory.end();
        this.#death ??= describe;
        this.#ready.reject(new Error(this.#describeDeath()));
        this.#conversation?.fail(this.#describeDeath());
        resolve();
      };
      this.#child.process.once('error', (error) => gone(() => `could not be started: ${error.message}`));
      // Ends processes that it may have started, so that they close its pipes.
      this.#child.process.once('exit', () => this.#child.kill());
      // On a busy machine `exit` may come before the last output is read; `close` comes after it.
      this.#child.process.once('close', (code, signal) => gone(() => describeExit(code, signal)));
    });
    this.ready.then(
      () => clearTimeout(late),
      () => undefined,
    );
  }

  get pid(): number | undefined {
    return this.#child.process.pid;
  }

  /** The environment that it belongs to, from its first run on. */
  get environment(): string | undefined {
    return this.#environment;
  }

  get isAlive(): boolean {
    return this.#death === undefined && this.#child.process.exitCode === null;
  }

  /** Why it gets no further run. */
  get retired(): string | undefined {
    if (this.#retired !== undefined) return this.#retired;
    if (!this.isAlive) return 'it has ended';
    const { runs, milliseconds } = this.#settings.bounds;
    if (this.#runs >= runs) return `${runs} runs`;
    const age = this.#firstRunAt === undefined ? 0 : performance.now() - this.#firstRunAt;
    return age >= milliseconds ? `${milliseconds} ms` : undefined;
  }

  /** Resident memory after its last run, without the code of Node.js, which all processes share. */
  get megabytes(): number {
    return this.#megabytes;
  }

  /** SIGKILL to the process group. */
  kill(): void {
    this.#retired ??= 'it was killed';
    this.#child.kill();
  }

  /**
   * Does one run. If the process dies, the run is FAILED with a message that says how. Afterwards `retired` says
   * whether the process may do another one.
   *
   * @throws the reason of `kill`, after all processes of the run are gone; ProcessGone
   */
  async run(environment: string, options: RunOptions): Promise<RunOutcome> {
    options.kill.throwIfAborted();
    if (this.#conversation !== undefined || (this.#environment ?? environment) !== environment)
      throw new Error('this process is not free for the run');
    this.#environment = environment;
    this.#firstRunAt ??= performance.now();
    this.#runs += 1;
    const run = this.#runs;
    const artifacts = [options.artifact, ...listShared(options)];
    const conversation = createConversation(options, artifacts, (message) =>
      this.#send({ ...message, run } as ToRun),
    );
    this.#conversation = conversation;
    this.#options = options;
    const cancel = () => conversation.cancel();
    const kill = () => this.kill();
    options.kill.addEventListener('abort', kill);
    options.cancel.addEventListener('abort', cancel);
    const watch = this.#watchSilence(conversation);
    try {
      if (!this.isAlive) conversation.fail(this.#describeDeath());
      else this.#start(options, artifacts);
      if (options.cancel.aborted) conversation.cancel();
      const { outcome, faults } = await conversation.ended;
      if (options.kill.aborted || !this.isAlive) await this.ended;
      else this.#judge(conversation, faults);
      options.kill.throwIfAborted();
      const wasKilled = this.#retired !== undefined || this.#memory.exceeded;
      if (!this.isAlive && !wasKilled && !conversation.hasBegun) throw new ProcessGone();
      return outcome;
    } finally {
      clearInterval(watch);
      this.#conversation = undefined;
      this.#options = undefined;
      options.kill.removeEventListener('abort', kill);
      options.cancel.removeEventListener('abort', cancel);
      await conversation.close();
    }
  }

  #start(options: RunOptions, artifacts: readonly PlacedArtifact[]): void {
    let isFull = false;
    if (this.#sent.size > keptIndexes) {
      this.#sent.clear();
      isFull = true;
    }
    let next = 1;
    const start: RunStart = {
      request: options.request,
      artifacts: artifacts.map(({ index, ...rest }) =>
        this.#sent.has(rest.digest) ? rest : { ...rest, index },
      ),
      shared: options.shared.map((one): SentShared => {
        if ('fault' in one) return one;
        const { use, versionName } = one;
        return { use, versionName, artifact: next++ };
      }),
    };
    for (const { digest } of artifacts) this.#sent.add(digest);
    this.#send({ type: 'start', run: this.#runs, start, ...(isFull ? { forget: true } : {}) });
  }

  /** A heap cannot be wiped, so that a process that got a secret does no other run. */
  #judge(conversation: Conversation, faults: readonly string[]): void {
    if (conversation.gotSecret) this.#retired ??= 'a secret';
    if (faults.length > 0) this.#retired ??= faults.join(', ');
    const { bounds, processMegabytes } = this.#settings;
    // The next run must have as much as in a new process, nearly.
    this.#megabytes = readMegabytes(this.pid);
    if (this.#megabytes > Math.min(bounds.megabytes, processMegabytes / 2)) this.#retired ??= 'memory';
    // Node's permissions forbid to start a process. This does not rely on them.
    if (hasChildren(this.pid)) this.#retired ??= 'a process that it started';
  }

  #watchSilence(conversation: Conversation): NodeJS.Timeout {
    const { silenceMilliseconds } = this.#settings.bounds;
    this.#silence = 0;
    return setInterval(() => {
      // Counted and not measured: after a pause of the agent itself, the messages are still to be read.
      this.#silence += 1;
      if (this.#silence * 1_000 < silenceMilliseconds) return;
      conversation.fail(describeUnresponsive(silenceMilliseconds));
      this.#retired ??= 'silence';
      this.kill();
    }, 1_000);
  }

  #receive(message: FromRun): void {
    this.#silence = 0;
    if (typeof message?.type !== 'string') {
      this.#refuse();
      return;
    }
    if (message.type === 'ready') this.#ready.resolve();
    else if (message.type !== 'several') this.#take(message);
    else if (Array.isArray(message.messages)) for (const each of message.messages) this.#take(each);
    else this.#refuse();
  }

  #take(message: OfRun | null): void {
    // A message of an earlier run is dropped; the process is not clean.
    if (this.#conversation === undefined || message?.run !== this.#runs) {
      this.#retired ??= 'a message of a run that has ended';
      if (this.#conversation === undefined) this.kill();
      return;
    }
    try {
      this.#conversation.receive(message);
    } catch {
      this.#refuse();
    }
  }

  #refuse(): void {
    this.#retired ??= 'a message out of order';
    this.#conversation?.fail(
      'the run’s process sent a message out of order and was killed: this is a fault of Headgate; the running step may have had effects',
    );
    this.kill();
  }

  #send(message: ToRun): void {
    // A failed send means that the process is ending; its exit is handled elsewhere.
    if (this.#child.process.connected) this.#child.process.send(message, () => undefined);
  }

  #describeDeath(): string {
    const { memoryMegabytes, processMegabytes } = this.#settings;
    if (this.#memory.exceeded)
      return `the run’s process exceeded its limit of ${processMegabytes} MB of memory and was killed: use smaller variables, or raise HEADGATE_AGENT_RUN_PROCESS_MEMORY_MB of the agent; the running step may have had effects`;
    const output = this.#child.stderrTail().trim();
    const shown = this.#options?.conceal(output) ?? output;
    if (/heap out of memory|heap limit/i.test(shown))
      return `the run exceeded its limit of ${memoryMegabytes} MB of JavaScript memory and was killed: use smaller variables, or raise HEADGATE_AGENT_RUN_MEMORY_MB of the agent`;
    const last = shown
      .split('\n')
      .findLast((line) => /error/i.test(line))
      ?.trim();
    const how = this.#death?.() ?? 'has ended';
    return `the run’s process ${how}${last ? ` (${last.slice(0, 500)})` : ''}; the running step may have had effects`;
  }
}

function listShared({ shared }: RunOptions): PlacedArtifact[] {
  return shared.flatMap((one) => ('artifact' in one ? [one.artifact] : []));
}

const describeUnresponsive = (milliseconds: number) =>
  `an expression blocked the run’s process for more than ${milliseconds / 1_000} s in a built-in function, and the process was killed: search or copy less data in one call`;
