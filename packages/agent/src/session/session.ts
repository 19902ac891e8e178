/**
 * One instance of the agent at its server: says hello, claims work as far as there is room, keeps its leases
 * alive, obeys commands and reports. The server may be away for a while: runs go on, and reports wait.
 */
import { EventEmitter, once } from 'node:events';
import {
  type AgentCommand,
  agentProtocolVersion,
  type Command,
  claimLimit,
  type GoodbyeStage,
  type HelloResponse,
  instanceAbilities,
  type WorkItem,
  type WorkKind,
} from '@headgate/contract';
import type { Handler, Handlers } from '../handlers/handler.ts';
import { getReason, type Log } from '../log.ts';
import { realTime, type Time } from '../time.ts';
import type { ControlPlane } from './control-plane.ts';
import {
  createFailedKill,
  createHeldWork,
  getReportedOutcome,
  type HeldWork,
  type Kill,
} from './held-work.ts';
import { getWorkName, Outbox, type Outcome, type WorkKey } from './outbox.ts';
import { retryUntilSuccess, sayGoodbye } from './retried-calls.ts';

/**
 * A run that has not been confirmed for this many leases is ended: by then another agent may have been given
 * the work. The server lets a silent holder come back within its own grace, so the first lease that passes is
 * no reason to end a run.
 */
const unconfirmedLeases = 4;
/** The part of the shutdown's bound in which runs may still finish; the rest is for the last reports. */
const finishPart = 0.6;
/**
 * A claim that brought nothing new, sooner than this, is followed by this pause: commands are repeated until
 * obeyed.
 */
const pauseMilliseconds = 250;

/**
 * How long a heartbeat's call may take: one that hangs leaves time for another before the lease ends. Those
 * that fail follow one another at this distance.
 */
function computeCallTimeout(heartbeatMilliseconds: number, leaseMilliseconds: number): number {
  const untilLeaseEnds = Math.max(heartbeatMilliseconds, leaseMilliseconds - heartbeatMilliseconds);
  return Math.min(heartbeatMilliseconds, untilLeaseEnds / 2);
}

export interface SessionOptions {
  controlPlane: ControlPlane;
  /** A server gives no work of other kinds, or an old one does: then it fails. */
  handlers: Partial<Handlers>;
  instanceId: string;
  agentVersion: string;
  concurrency: number;
  shutdownSeconds: number;
  log: Log;
  time?: Time;
}

/** How the session of one instance runs is told above; `run` and `stop` are each called once. */
export class Session {
  readonly #options: SessionOptions;
  readonly #held = new Map<string, HeldWork>();
  readonly #outbox: Outbox;
  readonly #stopping = new AbortController();
  readonly #ending = new AbortController();
  /** Runs that a restart waits for are not waited for any longer. */
  readonly #hurry = new AbortController();
  #restarts = false;
  #leaving: Promise<void> | undefined;
  #claiming: Promise<void> | undefined;
  readonly #time: Time;
  #times: HelloResponse | undefined;
  /** `freed`: some work is no longer held. */
  readonly #events = new EventEmitter();

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#time = options.time ?? realTime;
    const { controlPlane, instanceId, log } = options;
    this.#outbox = new Outbox({
      send: (reports, signal) =>
        controlPlane.report({ instanceId, reports }, this.#limitTime(this.#leaseMilliseconds, signal)),
      onRefused: (key, { kind, detail }) => {
        if (kind === 'lost') this.#kill(key, { report: 'nothing', why: detail });
        else this.#kill(key, createFailedKill(`the server refused the run’s progress: ${detail}`));
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
   * Works until `stop`, or until the server asks for a restart; settles when nothing is held any more or the
   * shutdown's bound is reached. Never rejects.
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
   * Claims nothing more, lets runs finish for a while, gives back or ends the rest, and sends the last
   * reports: within the bound.
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
    const told = this.#sayGoodbye('stopping');
    if (this.#restarts) await this.#waitUntilIdle(this.#hurry.signal);
    if (this.#hurry.signal.aborted) await this.#endHeld(this.#options.shutdownSeconds * 1_000);
    await Promise.all([told, this.#claiming]);
    await this.#sayGoodbye('stopped');
    this.#ending.abort();
  }

  async #endHeld(milliseconds: number): Promise<void> {
    await this.#waitUntilIdle(this.#time.timeout(milliseconds * finishPart));
    for (const work of this.#held.values())
      this.#kill(work, { report: 'released or failed', why: 'the agent was stopped' });
    await this.#waitUntilIdle(this.#time.timeout(milliseconds * (1 - finishPart)));
    if (this.#held.size > 0) this.#options.log.warn('work is left to its lease', { held: this.#held.size });
  }

  async #sayGoodbye(stage: GoodbyeStage): Promise<void> {
    const { controlPlane, instanceId } = this.#options;
    if (this.#times !== undefined) await sayGoodbye(controlPlane, { instanceId, stage }, this.#callContext);
  }

  /** A restart waits for what runs, however long that takes. */
  #obeyAsInstance(command: AgentCommand | undefined): void {
    if (command !== 'restart' || this.#leaving !== undefined) return;
    this.#options.log.info('told to restart', { held: this.#held.size });
    this.#restarts = true;
    this.#leaving = this.#leave();
  }

  get #callContext() {
    return { log: this.#options.log, time: this.#time };
  }

  async #sayHello(): Promise<void> {
    const { controlPlane, instanceId, agentVersion, concurrency, handlers, log } = this.#options;
    const body = {
      protocolVersions: [agentProtocolVersion],
      agentVersion,
      instanceId,
      abilities: [...Object.keys(handlers), ...instanceAbilities],
      concurrency,
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

  async #claim(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      let away = false;
      await retryUntilSuccess('claims', this.#callContext, signal, async () => {
        // A server that was away may be another one, or have forgotten this instance.
        if (away) await this.#sayHello();
        away = true;
        const asked = this.#time.now();
        const news = await this.#claimOnce(signal);
        if (news || this.#time.now() - asked > pauseMilliseconds) return;
        await this.#time.sleep(pauseMilliseconds, signal);
      });
    }
  }

  /** One long poll. Returns whether it brought work or a command that was not yet obeyed. */
  async #claimOnce(signal: AbortSignal): Promise<boolean> {
    const { controlPlane, instanceId, concurrency } = this.#options;
    const max = Math.min(Math.max(0, concurrency - this.#held.size), claimLimit);
    const freed = new AbortController();
    const onFreed = () => freed.abort();
    // A call that waits for commands only must not keep a place empty that becomes free.
    if (max === 0) this.#events.once('freed', onFreed);
    try {
      const waitSeconds = this.#times?.claimWaitSeconds ?? 0;
      const bounded = this.#limitTime(waitSeconds * 1_000 + this.#leaseMilliseconds, signal, freed.signal);
      const answer = await controlPlane.claim({ instanceId, max, waitSeconds }, bounded);
      const { work, commands, agentCommand } = answer;
      for (const item of work) this.#take(item);
      this.#obeyAsInstance(agentCommand);
      return commands.filter((command) => this.#obey(command)).length > 0 || work.length > 0;
    } catch (error) {
      if (freed.signal.aborted) return true;
      throw error;
    } finally {
      this.#events.off('freed', onFreed);
    }
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
        await this.#beat(this.#limitTime(bound, signal));
      } catch (error) {
        if (!signal.aborted) this.#options.log.warn('no heartbeat', { reason: getReason(error) });
        pause = bound;
      }
      pause = Math.max(0, pause - (this.#time.now() - began));
      this.#endUnconfirmed();
    }
  }

  /** Aborted by any of the signals, and after so long. */
  #limitTime(milliseconds: number, ...signals: AbortSignal[]): AbortSignal {
    return AbortSignal.any([...signals, this.#time.timeout(milliseconds)]);
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
    for (const { workId, epoch, state, command } of held) {
      const key = { workId, epoch };
      const work = this.#held.get(getWorkName(key));
      if (!work) continue;
      if (state === 'lost') {
        this.#kill(work, { report: 'nothing', why: 'the server gave it to another holder, or ended it' });
        continue;
      }
      work.confirmedAt = asked;
      if (command) this.#obey({ ...key, command });
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
          `the agent had no contact with the server for ${Math.round(bound / 1_000)} s and ended the run`,
        ),
      );
    }
  }

  #take(item: WorkItem): void {
    const key = { workId: item.workId, epoch: item.epoch };
    if (this.#held.has(getWorkName(key))) return;
    const work = createHeldWork(key, this.#time.now());
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
      log.info('work given back', { workId, epoch });
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
    // A handler is found by the kind of its own work.
    const handler = this.#options.handlers[item.kind] as Handler<WorkKind> | undefined;
    if (!handler)
      return createFailedKill(`this agent knows no work of the kind ${JSON.stringify(item.kind)}`).outcome;
    try {
      return await handler(item, {
        reportStarted: () => {
          this.#start(work);
          return work.begun.promise;
        },
        step: (step) => {
          if (!work.killed) this.#outbox.step(work, step);
        },
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

  /** Returns whether the command was news. */
  #obey({ command, ...key }: Command): boolean {
    const work = this.#held.get(getWorkName(key));
    if (!work || work.handled || work.killed) return false;
    if (command === 'cancel') {
      const news = !work.cancel.signal.aborted;
      work.cancel.abort();
      return news;
    }
    return this.#kill(work, {
      report: 'completed',
      outcome: {
        status: 'CANCELLED',
        message: 'the run was ended by force; its running step may have had effects',
      },
    });
  }

  /** Returns whether this is what kills it: the first reason counts. */
  #kill(key: WorkKey, kill: Kill): boolean {
    const work = this.#held.get(getWorkName(key));
    if (!work || work.killed) return false;
    work.killed = kill;
    work.kill.abort(new Error('the run was ended'));
    work.begun.reject(work.kill.signal.reason);
    if (kill.report === 'nothing') this.#outbox.drop(work);
    return true;
  }

  /**
   * The place is free, and the lease not kept any longer, once the handler has ended and the server knows
   * how.
   */
  #free(work: HeldWork): void {
    if (!work.handled || !work.settled) return;
    this.#held.delete(getWorkName(work));
    this.#events.emit('freed');
  }
}
