/**
 * A claim that waits for its response. Ten thousand of them wait at the same time, and the garbage
 * collector visits all that they hold. So each is one object without a promise, and keeps only the reply of
 * its request (docs/adr/0026).
 *
 * Terminology
 *   look   query the database for work and commands; a claim that is woken during a look looks again
 *   over   the claim may wait no longer: its time has passed, its agent disconnected, or the server stops
 */
import type { ClaimRequest, ClaimResponse } from '@headgate/contract';
import type { FastifyReply } from 'fastify';
import type { Occasion, Waiter, Wakes } from '../../kernel/database/wakes.ts';
import type { CallingAgent } from './known-agents.ts';

export interface Asking {
  agent: CallingAgent;
  request: ClaimRequest;
  reply: FastifyReply;
}

/** What all claims share. */
export interface ClaimCare {
  wakes: Wakes;
  /**
   * Returns the response, or undefined if there is nothing to send and the claim is not over. Rejects if
   * `arrival` does.
   */
  look(claim: OpenClaim, arrival?: Promise<void>): Promise<ClaimResponse | undefined>;
  /** Called when the response is sent. */
  close(claim: OpenClaim): void;
}

const nothing: ClaimResponse = { work: [], commands: [] };

export class OpenClaim implements Waiter {
  readonly agent: CallingAgent;
  readonly request: ClaimRequest;
  readonly reply: FastifyReply;
  readonly #care: ClaimCare;
  readonly #timer: NodeJS.Timeout | undefined;
  #state: 'waiting' | 'looking' | 'answered' = 'waiting';
  #isOver: boolean;
  #isWoken = false;
  #refusal: unknown;
  number = 0;
  /** The wake-up that the current look serves. */
  occasion: Occasion | undefined;
  /** The wake-up that arrived since. */
  #next: Occasion | undefined;

  constructor({ agent, request, reply }: Asking, waitMilliseconds: number, care: ClaimCare) {
    this.agent = agent;
    this.request = request;
    this.reply = reply;
    this.#care = care;
    this.#isOver = waitMilliseconds === 0;
    this.#timer = this.#isOver ? undefined : setTimeout(endClaimWait, waitMilliseconds, this);
  }

  /** One waiter is woken for a run, all are for short work. */
  get takesOccasions(): boolean {
    return this.request.max > 0;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get requestId(): string {
    return this.reply.request.id;
  }

  get instanceId(): string {
    return this.request.instanceId;
  }

  /** Waits for wake-ups from now on, at the end of the queue. */
  listen(): void {
    const { wakes } = this.#care;
    wakes.stopWaiting(this.agent.agentId, this);
    wakes.wait(this.agent.agentId, this);
  }

  /** Looks again, also without an occasion. */
  wake(occasion?: Occasion): void {
    this.#next ??= occasion;
    this.#isWoken = true;
    if (this.#state === 'waiting') void this.look();
  }

  /** Responds with this failure, unless the claim has been given work meanwhile. */
  refuse(failure: unknown): void {
    this.#refusal = failure;
    this.wake();
  }

  endWait(): void {
    this.#isOver = true;
    if (this.#state === 'waiting') this.#answer(nothing);
  }

  /** Listens before it looks, so that work enqueued during the look wakes it. */
  async look(arrival?: Promise<void>): Promise<void> {
    this.#state = 'looking';
    try {
      do {
        this.#isWoken = false;
        this.occasion = this.#next;
        this.#next = undefined;
        if (this.#refusal !== undefined) throw this.#refusal;
        this.listen();
        const answer = await this.#care.look(this, arrival);
        if (answer !== undefined) return this.#answer(answer);
      } while (this.#isWoken);
      this.#state = 'waiting';
      if (this.#isOver) this.#answer(nothing);
    } catch (failure) {
      this.#answer(failure);
    }
  }

  #answer(answer: unknown): void {
    if (this.#state === 'answered') return;
    this.#state = 'answered';
    clearTimeout(this.#timer);
    const { wakes } = this.#care;
    const { agentId } = this.agent;
    wakes.stopWaiting(agentId, this);
    // This claim did not use the wake-up; another waiting one may.
    for (const left of [this.occasion, this.#next]) if (left !== undefined) wakes.pass(agentId, left);
    this.#care.close(this);
    this.reply.send(answer);
  }
}

function endClaimWait(claim: OpenClaim): void {
  claim.endWait();
}
