/**
 * The session of one agent instance with the server: says hello, claims work for its free places, renews
 * leases, obeys commands and sends reports. While the server is unavailable, runs continue and reports wait.
 */
import { EventEmitter, once } from 'node:events';
import type {
  AgentCommand,
  Command,
  GoodbyeStage,
  HelloResponse,
  WorkItem,
  WorkKind,
} from '@headgate/contract';
import { agentProtocolVersion, instanceAbilities, runKinds } from '@headgate/contract/without-schemas';
import { Cancellation, describeCancellation } from '../cancellation.ts';
import type { Handler, Handlers } from '../handlers/handler.ts';
import { getReason, type Log } from '../log.ts';
import { realTime, type Time } from '../time.ts';
import { keepClaiming } from './claims.ts';
import type { ControlPlane } from './control-plane.ts';
import {
  createFailedKill,
  createHeldWork,
  getReportedOutcome,
  type HeldWork,
  type Kill,
} from './held-work.ts';
import { callWithin } from './limited-call.ts';
import { getWorkName, Outbox, type Outcome, type WorkKey } from './outbox.ts';
import { retryUntilSuccess, sayGoodbye } from './retried-calls.ts';

/**
 * A run is killed when no heartbeat was confirmed for this number of leases: another agent may have the work
 * by then. One missed lease is not enough, because the server lets a silent holder return within its grace
 * period.
 */
const unconfirmedLeases = 4;
/** The fraction of the shutdown time in which runs may still finish. The rest is for the last reports. */
const finishPart = 0.6;

/**
 * The time limit of a heartbeat call, which leaves time for another call before the lease ends. Also the
 * interval of retries.
 */
function computeCallTimeout(heartbeatMilliseconds: number, leaseMilliseconds: number): number {
  const untilLeaseEnds = Math.max(heartbeatMilliseconds, leaseMilliseconds - heartbeatMilliseconds);
  return Math.min(heartbeatMilliseconds, untilLeaseEnds / 2);
}

export interface SessionOptions {
  controlPlane: ControlPlane;
  /** Work of other kinds fails. Only an older server sends it. */
  handlers: Partial<Handlers>;
  instanceId: string;
  agentVersion: string;
  /** Places for runs. */
  concurrency: number;
  /** Places for short work, which never waits for runs. */
  shortConcurrency: number;
  shutdownSeconds: number;
  log: Log;
  time?: Time;
}

/** See above. `run` and `stop` are called at most once. */
export class Session {
  readonly #options: SessionOptions;
  readonly #held = new Map<string, HeldWork>();
  readonly #outbox: Outbox;
  readonly #stopping = new AbortController();
  readonly #ending = new AbortController();
  /** Aborted when a restart must no longer wait for runs. */
  readonly #hurry = new AbortController();
  #restarts = false;
  #leaving: Promise<void> | undefined;
  #claiming: Promise<void> | undefined;
  readonly #time: Time;
  #times: HelloResponse | undefined;
  /** Event `freed`: a work item is no longer held. */
  readonly #events = new EventEmitter();

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#time = options.time ?? realTime;
    const { controlPlane, instanceId, log } = options;
    this.#outbox = new Outbox({
      send: (reports, signal) =>
        this.#callWithin(this.#leaseMilliseconds, [signal], (bounded) =>
          controlPlane.report({ instanceId, reports }, bounded),
        ),
      onRefused: (key, { kind, detail }) => {
        if (kind === 'lost') this.#kill(key, { report: 'nothing', why: detail });
        else this.#kill(key, createFailedKill(`the server refused the progress of the run: ${detail}`));
      },
      onTaken: (report) => {
        if (report.type === 'started') this.#held.get(getWorkName(report))?.begun.resolve();
      },
      onSettled: (key) => {
        const work = this.#held.get(getWorkName(key));
        if (!work) return;
        work.settled = true;
        this.#free(work);
      },
      log,
      time: this.#time,
    });
  }

  /**
   * Runs until `stop` or until the server requests a restart. Resolves when no work is held, or at the
   * shutdown's time limit. Never rejects.
   */
  async run(): Promise<'stopped' | 'restart'> {
    const sending = this.#outbox.run(this.#ending.signal);
    await this.#sayHello();
    this.#claiming = this.#claim();
    await Promise.all([this.#claiming, this.#heartbeat(), sending]);
    await this.#leaving;
    return this.#restarts ? 'restart' : 'stopped';
  }

  /**
   * Stops claiming, lets runs finish for a while, releases or kills the others, and sends the last reports,
   * all within the shutdown's time limit.
   */
  async stop(reason: string): Promise<void> {
    if (this.#hurry.signal.aborted) return;
    this.#options.log.info('stopping', { reason, held: this.#held.size });
    this.#restarts = false;
    this.#hurry.abort();
    this.#leaving ??= this.#leave();
    await this.#leaving;
  }

  async #leave(): Promise<void> {
    this.#stopping.abort();
    const goodbye = this.#sayGoodbye('stopping');
    if (this.#restarts) await this.#waitUntilIdle(this.#hurry.signal);
    if (this.#hurry.signal.aborted) await this.#endHeld(this.#options.shutdownSeconds * 1_000);
    await Promise.all([goodbye, this.#claiming]);
    await this.#sayGoodbye('stopped');
    this.#ending.abort();
  }

  async #endHeld(milliseconds: number): Promise<void> {
    await this.#waitUntilIdle(this.#time.timeout(milliseconds * finishPart));
    for (const work of this.#held.values())
      this.#kill(work, { report: 'released or failed', why: 'the agent was stopped' });
    await this.#waitUntilIdle(this.#time.timeout(milliseconds * (1 - finishPart)));
    if (this.#held.size > 0)
      this.#options.log.warn('shutdown with unfinished work; its leases will expire', {
        held: this.#held.size,
      });
  }

  async #sayGoodbye(stage: GoodbyeStage): Promise<void> {
    const { controlPlane, instanceId } = this.#options;
    if (this.#times !== undefined) await sayGoodbye(controlPlane, { instanceId, stage }, this.#callContext);
  }

  /** A restart waits for running work without a time limit. */
  #obeyAsInstance(command: AgentCommand | undefined): void {
    if (command !== 'restart' || this.#leaving !== undefined) return;
    this.#options.log.info('restart requested', { held: this.#held.size });
    this.#restarts = true;
    this.#leaving = this.#leave();
  }

  get #callContext() {
    return { log: this.#options.log, time: this.#time };
  }

  async #sayHello(): Promise<void> {
    const { controlPlane, instanceId, agentVersion, concurrency, shortConcurrency, handlers, log } =
      this.#options;
    const body = {
      protocolVersions: [agentProtocolVersion],
      agentVersion,
      instanceId,
      abilities: [...Object.keys(handlers), ...instanceAbilities],
      concurrency,
      shortConcurrency,
    };
    await retryUntilSuccess('hello', this.#callContext, this.#stopping.signal, async (signal) => {
      this.#times = await controlPlane.hello(body, signal);
      const { name, agentId, serverVersion } = this.#times;
      log.info('connected', { name, agentId, serverVersion, instanceId });
    });
  }

  /** Waits until nothing is held, or until the signal. */
  async #waitUntilIdle(signal: AbortSignal): Promise<void> {
    while (this.#held.size > 0 && !signal.aborted) {
      await once(this.#events, 'freed', { signal }).catch(() => undefined);
    }
  }

  #claim(): Promise<void> {
    const { controlPlane, instanceId, concurrency, shortConcurrency } = this.#options;
    const places = { concurrency, shortConcurrency };
    return keepClaiming(
      {
        ...{ controlPlane, instanceId, ...places, ...this.#callContext, events: this.#events },
        countHeld: (isShort) => [...this.#held.values()].filter((work) => work.isShort === isShort).length,
        sayHello: () => this.#sayHello(),
        getTimes: () => ({
          claimWaitSeconds: this.#times?.claimWaitSeconds ?? 0,
          leaseMilliseconds: this.#leaseMilliseconds,
        }),
        onAnswer: ({ work, commands, agentCommand }) => {
          for (const item of work) this.#take(item);
          this.#obeyAsInstance(agentCommand);
          return commands.filter((command) => this.#obey(command)).length > 0 || work.length > 0;
        },
      },
      this.#stopping.signal,
    );
  }

  async #heartbeat(): Promise<void> {
    const { signal } = this.#ending;
    let pause = this.#heartbeatMilliseconds;
    while (!signal.aborted) {
      await this.#time.sleep(pause, signal);
      pause = this.#heartbeatMilliseconds;
      if (signal.aborted || this.#held.size === 0) continue;
      const began = this.#time.now();
      const bound = computeCallTimeout(this.#heartbeatMilliseconds, this.#leaseMilliseconds);
      try {
        await this.#callWithin(bound, [signal], (bounded) => this.#beat(bounded));
      } catch (error) {
        if (!signal.aborted) this.#options.log.warn('heartbeat failed', { reason: getReason(error) });
        pause = bound;
      }
      pause = Math.max(0, pause - (this.#time.now() - began));
      this.#endUnconfirmed();
    }
  }

  #callWithin<T>(
    milliseconds: number,
    signals: AbortSignal[],
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return callWithin(this.#time, milliseconds, signals, call);
  }

  get #heartbeatMilliseconds(): number {
    return (this.#times?.heartbeatSeconds ?? 1) * 1_000;
  }

  async #beat(signal: AbortSignal): Promise<void> {
    const { controlPlane, instanceId } = this.#options;
    const asked = this.#time.now();
    const mine = [...this.#held.values()].filter((work) => !work.settled);
    const keys = mine.map(({ workId, epoch }) => ({ workId, epoch }));
    if (keys.length === 0) return;
    const { held, agentCommand } = await controlPlane.heartbeat({ instanceId, held: keys }, signal);
    this.#obeyAsInstance(agentCommand);
    for (const { workId, epoch, state, command, requestedBy } of held) {
      const key = { workId, epoch };
      const work = this.#held.get(getWorkName(key));
      if (!work) continue;
      if (state === 'lost') {
        this.#kill(work, { report: 'nothing', why: 'the server ended it or gave it to another holder' });
        continue;
      }
      work.confirmedAt = asked;
      if (command) this.#obey({ ...key, command, ...(requestedBy === undefined ? {} : { requestedBy }) });
    }
  }

  get #leaseMilliseconds(): number {
    return (this.#times?.leaseSeconds ?? 30) * 1_000;
  }

  #endUnconfirmed(): void {
    const bound = this.#leaseMilliseconds * unconfirmedLeases;
    for (const work of this.#held.values()) {
      if (this.#time.now() - work.confirmedAt < bound) continue;
      this.#kill(
        work,
        createFailedKill(
          `the agent killed the run after ${Math.round(bound / 1_000)} s without contact to the server`,
        ),
      );
    }
  }

  #take(item: WorkItem): void {
    const key = { workId: item.workId, epoch: item.epoch };
    if (this.#held.has(getWorkName(key))) return;
    const work = createHeldWork(key, !runKinds.includes(item.kind), this.#time.now());
    this.#held.set(getWorkName(key), work);
    this.#outbox.open(key);
    this.#options.log.info('work claimed', { ...key, kind: item.kind });
    void this.#handle(item, work);
  }

  async #handle(item: WorkItem, work: HeldWork): Promise<void> {
    const outcome = await this.#runHandler(item, work);
    work.handled = true;
    const { workId, epoch, killed } = work;
    const { log } = this.#options;
    if (killed?.report === 'nothing') {
      log.warn('work given up', { workId, epoch, reason: killed.why });
    } else if (killed?.report === 'released or failed' && !work.started) {
      log.info('work released', { workId, epoch });
      this.#outbox.end(work, { type: 'released', reason: killed.why });
    } else {
      const reported = getReportedOutcome(killed, outcome);
      log.info('work ended', { workId, epoch, status: reported.status });
      this.#start(work);
      this.#outbox.end(work, { type: 'completed', outcome: reported });
    }
    this.#free(work);
  }

  async #runHandler(item: WorkItem, work: HeldWork): Promise<Outcome> {
    // The handler's type matches the kind by which it is found.
    const handler = this.#options.handlers[item.kind] as Handler<WorkKind> | undefined;
    if (!handler)
      return createFailedKill(
        `this agent does not support work of the kind ${JSON.stringify(item.kind)}: upgrade the agent`,
      ).outcome;
    try {
      return await handler(item, {
        reportStarted: () => {
          this.#start(work);
          return work.begun.promise;
        },
        step: (step, lineage) => {
          if (!work.killed) this.#outbox.step(work, step, lineage);
        },
        tested: (result) => {
          if (!work.killed) this.#outbox.addTested(work, result);
        },
        line: (line) => {
          if (!work.killed) this.#outbox.line(work, line);
        },
        variables: (variables) => this.#outbox.variables(work, variables),
        conceal: (mask) => this.#outbox.conceal(work, mask),
        cancel: work.cancel.signal,
        kill: work.kill.signal,
      });
    } catch (error) {
      return { status: 'FAILED', message: getReason(error) };
    }
  }

  #start(work: HeldWork): void {
    if (work.started) return;
    work.started = true;
    this.#outbox.addStarted(work);
  }

  /** Returns whether the command was new. */
  #obey({ command, requestedBy, ...key }: Command): boolean {
    const work = this.#held.get(getWorkName(key));
    if (!work || work.handled || work.killed) return false;
    if (command === 'cancel') {
      const news = !work.cancel.signal.aborted;
      work.cancel.abort(new Cancellation(requestedBy));
      return news;
    }
    return this.#kill(work, {
      report: 'completed',
      outcome: {
        status: 'CANCELLED',
        message: `killed: ${describeCancellation(requestedBy)} with force; the running step may have had effects`,
      },
    });
  }

  /** Returns false if the work is already killed: the first reason counts. */
  #kill(key: WorkKey, kill: Kill): boolean {
    const work = this.#held.get(getWorkName(key));
    if (!work || work.killed) return false;
    work.killed = kill;
    work.kill.abort(new Error('the run was killed'));
    work.begun.reject(work.kill.signal.reason);
    if (kill.report === 'nothing') this.#outbox.drop(work);
    return true;
  }

  /** Frees the place and the lease once the handler has ended and the server has accepted the last report. */
  #free(work: HeldWork): void {
    if (!work.handled || !work.settled) return;
    this.#held.delete(getWorkName(work));
    this.#events.emit('freed');
  }
}
