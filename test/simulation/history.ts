/** What happened to each work, as far as it was committed or had an effect, and what of it must never be. */

export interface Told {
  /** The instances that a claim was given to, by epoch. */
  claims: Map<number, string>;
  /** The epochs whose start the server has taken note of. */
  started: Set<number>;
  /** The epochs whose run has begun to have effects. */
  begun: number[];
  /** How its runs ended, by epoch, as their handlers say. */
  handled: Map<number, string>;
  end: string | undefined;
  queuedAt: number;
  endedAt: number;
}

export class History {
  readonly works = new Map<string, Told>();
  /** Rules that were broken, in words. */
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

  /** The server has taken note of a start: of a report that came twice, once. */
  started(workId: string): void {
    const { claims, started } = this.#of(workId);
    if (started.has(claims.size)) this.#fault(workId, `the start of epoch ${claims.size} counted twice`);
    started.add(claims.size);
    this.moved(workId, 'started');
  }

  /** A report or a heartbeat was accepted; `newest` is the epoch that was known before it came. */
  accepted(workId: string, epoch: number, newest: number): void {
    if (epoch < newest) this.#fault(workId, `epoch ${epoch} heard in epoch ${newest}`);
  }

  newestEpoch(workId: string): number {
    return this.#of(workId).claims.size;
  }

  /** The handler of this claim has its first effect on what is outside. */
  begun(workId: string, epoch: number): void {
    const told = this.#of(workId);
    if (told.begun.length > 0) this.#fault(workId, `begun in epoch ${told.begun[0]} and again in ${epoch}`);
    told.begun.push(epoch);
  }

  handled(workId: string, epoch: number, status: string): void {
    this.#of(workId).handled.set(epoch, status);
  }

  ended(workId: string, status: string, now: number): void {
    const told = this.#of(workId);
    if (told.end !== undefined) this.#fault(workId, `ended twice: ${told.end}, then ${status}`);
    if (status === 'SUCCESS' && ![...told.handled.values()].includes('SUCCESS'))
      this.#fault(workId, 'SUCCESS of a run that did not succeed');
    told.end = status;
    told.endedAt = now;
  }

  /** Its silence, its return, its start or its requeueing: none of them after its end. */
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
    const told = this.works.get(workId);
    if (told === undefined) throw new Error(`nothing is known of ${workId}`);
    return told;
  }
}
