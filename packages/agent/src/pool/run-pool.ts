/**
 * The processes of runs. A process is started before it is needed, does many runs of one environment, one at a
 * time, and is replaced by the rules of `run-process.ts`. ADR 0054.
 */
import { availableParallelism } from 'node:os';
import type { RunOutcome } from '../engine/ports/ports.ts';
import { getReason, type Log } from '../log.ts';
import { defaultPoolBounds, type PoolBounds } from './bounds.ts';
import type { RunOptions } from './run-options.ts';
import { ProcessGone, RunProcess, type RunProcessSettings } from './run-process.ts';

export interface RunPoolSettings extends Omit<RunProcessSettings, 'bounds'> {
  log: Log;
  bounds?: Partial<PoolBounds>;
}

/** Processes that start at one time. More only take time from each other and from the runs. */
const startsAtOnce = 2;

/**
 * A run waits for one of the busy processes of its environment, while they finish runs. It takes another when no
 * run has ended for this time. Most runs are shorter. A process that does many runs is warm: a new one takes ten
 * times as long for each of its first runs.
 */
const patienceMilliseconds = 40;
/** The same when several processes of the environment are busy: then the processors have enough to do. */
const crowdedPatienceMilliseconds = 150;
/** The longest wait, however many runs end meanwhile. */
const mostPatienceMilliseconds = 1_000;

/** Processes of an environment that do short runs at one time. More only take time and memory from each other. */
const busyAtOnce = 2 * availableParallelism();

/** Processes that one run is given to, and starts that may fail one after the other. */
const attempts = 4;

interface Waiting {
  environment: string;
  since: number;
  patience: number;
  /** When a process of the environment last finished a run. */
  progressAt: number;
  /** It may take any free process, also one that belongs to no environment yet. */
  isImpatient: boolean;
  take(process: RunProcess): void;
  fail(error: Error): void;
}

interface Idle {
  process: RunProcess;
  since: number;
}

export interface RunPool {
  /**
   * Does a run in a process of its environment.
   *
   * @throws the reason of `kill`, after all processes of the run are gone.
   */
  run(options: RunOptions): Promise<RunOutcome>;
  /** The process ids of its processes. */
  listProcesses(): number[];
  /** Kills all processes. */
  close(): Promise<void>;
}

export function createRunPool(settings: RunPoolSettings): RunPool {
  return new Pool(settings);
}

class Pool implements RunPool {
  readonly #settings: RunPoolSettings;
  readonly #bounds: PoolBounds;
  readonly #processes = new Set<RunProcess>();
  readonly #spares: RunProcess[] = [];
  /** The least recently used first. */
  readonly #idle: Idle[] = [];
  readonly #waiting: Waiting[] = [];
  #starting = 0;
  /** Since the last one that succeeded. */
  #failedStarts = 0;
  #isClosed = false;
  #sweep: NodeJS.Timeout | undefined;

  constructor(settings: RunPoolSettings) {
    this.#settings = settings;
    this.#bounds = { ...defaultPoolBounds, ...settings.bounds };
    this.#fill();
  }

  async run(options: RunOptions): Promise<RunOutcome> {
    const { projectId, environmentName } = options.request;
    const environment = JSON.stringify([projectId, environmentName]);
    for (let attempt = 1; ; attempt += 1) {
      const process = await this.#acquire(environment, options.kill);
      try {
        return await process.run(environment, options);
      } catch (error) {
        // It was killed while it waited, and the agent had not seen its end yet.
        if (!(error instanceof ProcessGone) || attempt === attempts || this.#isClosed) throw error;
      } finally {
        this.#release(process);
      }
    }
  }

  listProcesses(): number[] {
    return [...this.#processes].flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#sweep);
    for (const { fail } of this.#waiting.splice(0)) fail(new Error('the agent was stopped'));
    const processes = [...this.#processes];
    for (const process of processes) process.kill();
    await Promise.all(processes.map(({ ended }) => ended));
  }

  /** Runs are served in their order, each by the first process that becomes free for it. */
  async #acquire(environment: string, kill: AbortSignal): Promise<RunProcess> {
    kill.throwIfAborted();
    if (this.#isClosed) throw new Error('the agent was stopped');
    const known = [...this.#processes].filter(
      (each) => each.environment === environment && each.retired === undefined,
    );
    const isKnown = known.length > 0;
    const idle = this.#idle.filter(({ process }) => process.environment === environment);
    const isCrowded = known.length - idle.length >= busyAtOnce;
    const free = isKnown ? (isCrowded ? undefined : this.#takeIdle(environment)) : this.#takeSpare();
    if (free !== undefined) return free;
    const { promise, resolve, reject } = Promise.withResolvers<RunProcess>();
    const since = performance.now();
    const waiting: Waiting = {
      environment,
      since,
      patience: isCrowded ? crowdedPatienceMilliseconds : patienceMilliseconds,
      progressAt: since,
      isImpatient: !isKnown,
      take: resolve,
      fail: reject,
    };
    const stopHurrying = this.#hurryLater(waiting);
    const giveUp = () => {
      const place = this.#waiting.indexOf(waiting);
      if (place >= 0) this.#waiting.splice(place, 1);
      reject(kill.reason);
    };
    kill.addEventListener('abort', giveUp);
    this.#waiting.push(waiting);
    this.#fill();
    return promise.finally(() => {
      stopHurrying();
      kill.removeEventListener('abort', giveUp);
    });
  }

  /** Makes a run impatient when its environment makes no progress. Returns what stops that. */
  #hurryLater(waiting: Waiting): () => void {
    let timer = setTimeout(check, waiting.patience, this);
    function check(pool: Pool): void {
      const end = Math.min(waiting.progressAt + waiting.patience, waiting.since + mostPatienceMilliseconds);
      const left = end - performance.now();
      if (left <= 0) pool.#hurry(waiting);
      else timer = setTimeout(check, left, pool);
    }
    return () => clearTimeout(timer);
  }

  #hurry(waiting: Waiting): void {
    waiting.isImpatient = true;
    const free = this.#takeIdle(waiting.environment) ?? this.#takeSpare();
    if (free !== undefined) this.#offer(free);
    else this.#fill();
  }

  /** The most recently used process of the environment. */
  #takeIdle(environment: string): RunProcess | undefined {
    for (;;) {
      const place = this.#idle.findLastIndex(({ process }) => process.environment === environment);
      const [idle] = place < 0 ? [] : this.#idle.splice(place, 1);
      if (idle === undefined || idle.process.retired === undefined) return idle?.process;
      this.#retire(idle.process);
    }
  }

  #takeSpare(): RunProcess | undefined {
    const spare = this.#spares.shift();
    if (spare !== undefined) this.#fill();
    return spare;
  }

  #release(process: RunProcess): void {
    if (this.#isClosed || process.retired !== undefined) {
      this.#retire(process);
      this.#fill();
    } else {
      const now = performance.now();
      for (const each of this.#waiting) if (each.environment === process.environment) each.progressAt = now;
      this.#offer(process);
    }
  }

  /** Gives a free process to a run that waits for one, or keeps it. */
  #offer(process: RunProcess): void {
    const { environment } = process;
    const place = this.#waiting.findIndex((each) =>
      environment === undefined ? each.isImpatient : each.environment === environment,
    );
    const [waiting] = place < 0 ? [] : this.#waiting.splice(place, 1);
    if (waiting !== undefined) waiting.take(process);
    else if (environment === undefined) this.#spares.push(process);
    else if (process.retired !== undefined) this.#retire(process);
    else {
      this.#idle.push({ process, since: performance.now() });
      this.#limitIdle();
    }
    this.#fill();
  }

  #limitIdle(): void {
    const { idle, idleMegabytes, idleMilliseconds } = this.#bounds;
    const now = performance.now();
    let megabytes = this.#idle.reduce((sum, { process }) => sum + process.megabytes, 0);
    for (const each of [...this.#idle]) {
      const isTooMany = this.#idle.length > idle || megabytes > idleMegabytes;
      const isRetired = each.process.retired !== undefined;
      if (!isTooMany && !isRetired && now - each.since < idleMilliseconds) continue;
      this.#idle.splice(this.#idle.indexOf(each), 1);
      megabytes -= each.process.megabytes;
      this.#retire(each.process);
    }
    this.#sweep ??= setInterval(() => this.#limitIdle(), 5_000).unref();
  }

  #retire(process: RunProcess): void {
    this.#settings.log.debug('process of runs retired', { pid: process.pid, reason: process.retired });
    process.kill();
  }

  /** Starts what is missing: one process for each waiting run, and the spares. */
  #fill(): void {
    if (this.#isClosed) return;
    const target = this.#waiting.filter(({ isImpatient }) => isImpatient).length + this.#bounds.spares;
    while (this.#starting < startsAtOnce && this.#starting + this.#spares.length < target) void this.#start();
  }

  async #start(): Promise<void> {
    this.#starting += 1;
    const process = new RunProcess({ ...this.#settings, bounds: this.#bounds });
    this.#processes.add(process);
    void process.ended.then(() => this.#forget(process));
    try {
      await process.ready;
      this.#starting -= 1;
      this.#failedStarts = 0;
      this.#offer(process);
    } catch (error) {
      this.#starting -= 1;
      if (this.#isClosed) return;
      this.#settings.log.error('a process of runs did not start', { reason: getReason(error) });
      this.#failedStarts += 1;
      // So that no run waits for ever.
      if (this.#failedStarts > attempts)
        this.#waiting.shift()?.fail(new Error(`the run’s process did not start: ${getReason(error)}`));
      if (this.#waiting.length > 0) this.#fill();
    }
  }

  /** A process that dies between runs is replaced. */
  #forget(process: RunProcess): void {
    this.#processes.delete(process);
    const spare = this.#spares.indexOf(process);
    if (spare >= 0) this.#spares.splice(spare, 1);
    const idle = this.#idle.findIndex((each) => each.process === process);
    if (idle >= 0) this.#idle.splice(idle, 1);
    if (spare >= 0) this.#fill();
  }
}
