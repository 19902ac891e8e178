/**
 * Decides which statements of a run may run at the same time. Shared work runs on any free session, several at
 * once; exclusive work runs alone, on session 0. Both in the order in which they came.
 */

interface Entry {
  isShared: boolean;
  begin(session: number): void;
}

export interface SessionGate {
  runShared<T>(work: (session: number) => Promise<T>): Promise<T>;
  runExclusively<T>(work: () => Promise<T>): Promise<T>;
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

  async function run<T>(isShared: boolean, work: (session: number) => Promise<T>): Promise<T> {
    const session = await new Promise<number>((begin) => {
      queue.push({ isShared, begin });
      advance();
    });
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
    runShared: (work) => run(true, work),
    runExclusively: (work) => run(false, () => work()),
  };
}
