/** A clock that stops until everything possible has happened, and then jumps to the next due action. */
import type { Time } from '../../packages/agent/src/time.ts';

/** The process of a due action. Actions of a dead process never run; those of a frozen one run later. */
export interface Life {
  dead: boolean;
  frozenUntil: number;
}

interface Due {
  at: number;
  order: number;
  life: Life | undefined;
  act: () => void;
}

export class VirtualTime {
  /** Milliseconds since the start. */
  now = 0;
  #order = 0;
  /** A heap with the next action first. */
  readonly #due: Due[] = [];
  readonly #random: () => number;
  readonly #listening = new Set<() => void>();

  constructor(random: () => number) {
    this.#random = random;
  }

  after(milliseconds: number, act: () => void, life?: Life): void {
    this.#push({ at: this.now + Math.max(0, milliseconds), order: ++this.#order, life, act });
  }

  sleep(milliseconds: number, life?: Life): Promise<void> {
    return new Promise((resolve) => this.after(milliseconds, resolve, life));
  }

  /** The time of the agent. */
  of(life: Life): Time {
    return {
      now: () => this.now,
      random: this.#random,
      sleep: (milliseconds, signal) =>
        new Promise((resolve) => {
          if (signal?.aborted) return resolve();
          const stop = signal && this.listen(signal, resolve);
          const awake = () => {
            stop?.();
            resolve();
          };
          this.after(milliseconds, awake, life);
        }),
      timeout: (milliseconds) => {
        const timer = new AbortController();
        this.after(milliseconds, () => timer.abort(new Error('timeout')), life);
        return timer.signal;
      },
    };
  }

  /** Calls `act` when `signal` is aborted. Returns a function that stops listening. */
  listen(signal: AbortSignal, act: () => void): () => void {
    const stop = () => {
      signal.removeEventListener('abort', act);
      this.#listening.delete(stop);
    };
    signal.addEventListener('abort', act, { once: true });
    this.#listening.add(stop);
    return stop;
  }

  /** Stops listening to all signals: Node.js keeps a combined signal as long as it has listeners. */
  end(): void {
    for (const stop of this.#listening) stop();
  }

  /** Runs until `done`, or until `limit`. Returns whether it is done. */
  async until(done: () => boolean, limit: number): Promise<boolean> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      if (done()) return true;
      const next = this.#due[0];
      if (next === undefined || next.at > limit) {
        this.now = limit;
        return false;
      }
      this.#pop();
      this.now = next.at;
      if (next.life?.dead) continue;
      const { frozenUntil = 0 } = next.life ?? {};
      if (frozenUntil > this.now) this.#push({ ...next, at: frozenUntil });
      else next.act();
    }
  }

  #push(due: Due): void {
    const heap = this.#due;
    heap.push(due);
    for (let index = heap.length - 1; index > 0; ) {
      const parent = (index - 1) >> 1;
      if (!this.#swapIfEarlier(index, parent)) return;
      index = parent;
    }
  }

  #pop(): void {
    const heap = this.#due;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    for (let index = 0; ; ) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      const least = right < heap.length && this.#isEarlier(right, left) ? right : left;
      if (least >= heap.length || !this.#swapIfEarlier(least, index)) return;
      index = least;
    }
  }

  #isEarlier(one: number, other: number): boolean {
    const [a, b] = [this.#due[one], this.#due[other]];
    return a !== undefined && b !== undefined && (a.at < b.at || (a.at === b.at && a.order < b.order));
  }

  #swapIfEarlier(one: number, other: number): boolean {
    if (!this.#isEarlier(one, other)) return false;
    const heap = this.#due;
    [heap[one], heap[other]] = [heap[other] as Due, heap[one] as Due];
    return true;
  }
}
