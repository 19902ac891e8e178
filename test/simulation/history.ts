/** Records the committed events and the effects of each work, and the rules that they break. */

export interface Told {
  /** The instances that claimed the work, by epoch. */
  claims: Map<number, string>;
  /** The epochs whose start the server has stored. */
  started: Set<number>;
  /** The epochs whose run has begun to have effects. */
  begun: number[];
  /** The results that the handlers reported, by epoch. */
  handled: Map<number, string>;
  end: string | undefined;
  queuedAt: number;
  endedAt: number;
}

export class History {
  readonly works = new Map<string, Told>();
  /** Broken rules, one sentence each. */
  readonly faults: string[] = [];

  queued(workId: string, now: number): void {
    this.works.set(workId, {
      claims: new Map(),
      started: new Set(),
      begun: [],
      handled: new Map(),
      end: undefined,
      queuedAt: now,
      endedAt: 0,
    });
  }

  claimed(workId: string, epoch: number, instanceId: string): void {
    const { claims, end } = this.#of(workId);
    if (claims.has(epoch)) this.#fault(workId, `epoch ${epoch} has two owners`);
    if (epoch !== claims.size + 1) this.#fault(workId, `epoch ${epoch} does not follow ${claims.size}`);
    if (end !== undefined) this.#fault(workId, `claimed after its end`);
    claims.set(epoch, instanceId);
  }

  /** The server has stored a start. A report that arrives twice is stored once. */
  started(workId: string): void {
    const { claims, started } = this.#of(workId);
    if (started.has(claims.size)) this.#fault(workId, `the start of epoch ${claims.size} counted twice`);
    started.add(claims.size);
    this.moved(workId, 'started');
  }

  /** A report or a heartbeat was accepted; `newest` is the epoch before it arrived. */
  accepted(workId: string, epoch: number, newest: number): void {
    if (epoch < newest) this.#fault(workId, `epoch ${epoch} heard in epoch ${newest}`);
  }

  newestEpoch(workId: string): number {
    return this.#of(workId).claims.size;
  }

  /** The handler of this claim has its first external effect. */
  begun(workId: string, epoch: number): void {
    const notice = this.#of(workId);
    if (notice.begun.length > 0)
      this.#fault(workId, `begun in epoch ${notice.begun[0]} and again in ${epoch}`);
    notice.begun.push(epoch);
  }

  handled(workId: string, epoch: number, status: string): void {
    this.#of(workId).handled.set(epoch, status);
  }

  ended(workId: string, status: string, now: number): void {
    const notice = this.#of(workId);
    if (notice.end !== undefined) this.#fault(workId, `ended twice: ${notice.end}, then ${status}`);
    if (status === 'SUCCESS' && ![...notice.handled.values()].includes('SUCCESS'))
      this.#fault(workId, 'SUCCESS of a run that did not succeed');
    notice.end = status;
    notice.endedAt = now;
  }

  /** Silence, return, start and requeueing must not follow the end. */
  moved(workId: string, what: string): void {
    if (this.#of(workId).end !== undefined) this.#fault(workId, `${what} after its end`);
  }

  fault(what: string): void {
    this.faults.push(what);
  }

  #fault(workId: string, what: string): void {
    this.faults.push(`${workId}: ${what}`);
  }

  #of(workId: string): Told {
    const notice = this.works.get(workId);
    if (notice === undefined) throw new Error(`nothing is known of ${workId}`);
    return notice;
  }
}
