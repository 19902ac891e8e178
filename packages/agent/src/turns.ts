/**
 * Hands out places for work that the projects of an agent share. A project has some of them at most, and those that
 * wait take turns by project, so that one with much work does not hold up the others.
 */
export interface Turns {
  /** Does the work as soon as there is a place. @throws the reason of the signal while it waits */
  take<Result>(project: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result>;
}

/** @param most places of one project */
export function createTurns(places: number, most: number): Turns {
  let free = places;
  const taken = new Map<string, number>();
  /** The project whose turn it is first. */
  const waiting = new Map<string, (() => void)[]>();

  function begin(project: string): void {
    free -= 1;
    taken.set(project, (taken.get(project) ?? 0) + 1);
  }

  const mayBegin = (project: string) => free > 0 && (taken.get(project) ?? 0) < most;

  function end(project: string): void {
    free += 1;
    const left = (taken.get(project) ?? 1) - 1;
    if (left === 0) taken.delete(project);
    else taken.set(project, left);
    for (const [next, queue] of waiting) {
      if (!mayBegin(next)) continue;
      waiting.delete(next);
      const start = queue.shift();
      if (queue.length > 0) waiting.set(next, queue);
      start?.();
      return;
    }
  }

  function wait(project: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const queue = waiting.get(project) ?? [];
    const abort = () => {
      queue.splice(queue.indexOf(start), 1);
      if (queue.length === 0) waiting.delete(project);
      reject(signal.reason);
    };
    const start = () => {
      signal.removeEventListener('abort', abort);
      begin(project);
      resolve();
    };
    signal.addEventListener('abort', abort, { once: true });
    queue.push(start);
    waiting.set(project, queue);
    return promise;
  }

  return {
    async take(project, signal, work) {
      signal.throwIfAborted();
      if (mayBegin(project)) begin(project);
      else await wait(project, signal);
      try {
        return await work();
      } finally {
        end(project);
      }
    },
  };
}
