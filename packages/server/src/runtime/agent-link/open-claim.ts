/**
 * A claim that is not answered yet. Ten thousand of them wait at one time, and V8 goes through all that they keep again and again: so each is
 * one object that nobody awaits, and of its call only the reply is left (docs/adr/0026).
 *
 * Terminology
 *   look   asks the database what there is; who is woken meanwhile looks once more
 *   over   it may wait no longer: its time has passed, its agent went away, or the server stops
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
  /** Answers `undefined` when there is nothing to tell and the claim is not over; else what it is answered. Rejects when `arrival` does. */
  look(claim: OpenClaim, arrival?: Promise<void>): Promise<ClaimResponse | undefined>;
  /** It has been answered. */
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
  /** What it looks for. */
  occasion: Occasion | undefined;
  /** What it was woken for since. */
  #next: Occasion | undefined;

  constructor({ agent, request, reply }: Asking, waitMilliseconds: number, care: ClaimCare) {
    this.agent = agent;
    this.request = request;
    this.reply = reply;
    this.#care = care;
    this.#isOver = waitMilliseconds === 0;
    this.#timer = this.#isOver ? undefined : setTimeout(endWaitOf, waitMilliseconds, this);
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

  /** To be woken from now on, as one who begins to wait. */
  listen(): void {
    const { wakes } = this.#care;
    wakes.stopWaiting(this.agent.agentId, this);
    wakes.wait(this.agent.agentId, this);
  }

  /** To look again; also without an occasion. */
  wake(occasion?: Occasion): void {
    this.#next ??= occasion;
    this.#isWoken = true;
    if (this.#state === 'waiting') void this.look();
  }

  /** It is answered by this, unless it has been given something meanwhile. */
  refuse(failure: unknown): void {
    this.#refusal = failure;
    this.wake();
  }

  endWait(): void {
    this.#isOver = true;
    if (this.#state === 'waiting') this.#answer(nothing);
  }

  /** Waits from now on, and looks: what is enqueued meanwhile wakes it. */
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
    // Nobody here makes use of it: another one who waits may.
    for (const left of [this.occasion, this.#next]) if (left !== undefined) wakes.pass(agentId, left);
    this.#care.close(this);
    this.reply.send(answer);
  }
}

function endWaitOf(claim: OpenClaim): void {
  claim.endWait();
}
