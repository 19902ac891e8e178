/**
 * Decides which statements of a run may run at the same time. Shared work runs on any free session, several at
 * once; exclusive work runs alone, on session 0. Both in the order in which they came.
 */

interface Entry {
  isShared: boolean;
  begin(session: number): void;
}

export interface SessionGate {
  /** @param signal ends the wait for its turn */
  runShared<T>(work: (session: number) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** @param signal ends the wait for its turn */
  runExclusively<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** @param sessions of the run */
export function createSessionGate(sessions: number): SessionGate {
  const queue: Entry[] = [];
  const free = Array.from({ length: sessions }, (_, session) => session);

  function advance(): void {
    for (let next = queue[0]; next !== undefined; next = queue[0]) {
      const isPossible = next.isShared ? free.length > 0 : free.length === sessions;
      if (!isPossible) return;
      queue.shift();
      const taken = next.isShared ? [free.shift() ?? 0] : free.splice(0);
      next.begin(taken[0] ?? 0);
    }
  }

  function wait(isShared: boolean, signal: AbortSignal | undefined): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    function stopWaiting() {
      queue.splice(queue.indexOf(entry), 1);
      reject(signal?.reason);
      advance();
    }
    const entry: Entry = {
      isShared,
      begin(session) {
        signal?.removeEventListener('abort', stopWaiting);
        resolve(session);
      },
    };
    signal?.throwIfAborted();
    signal?.addEventListener('abort', stopWaiting, { once: true });
    queue.push(entry);
    advance();
    return promise;
  }

  async function run<T>(
    isShared: boolean,
    work: (session: number) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const session = await wait(isShared, signal);
    try {
      return await work(session);
    } finally {
      if (isShared) free.push(session);
      else free.push(...Array.from({ length: sessions }, (_, each) => each));
      free.sort((one, other) => one - other);
      advance();
    }
  }

  return {
    runShared: (work, signal) => run(true, work, signal),
    runExclusively: (work, signal) => run(false, () => work(), signal),
  };
}
