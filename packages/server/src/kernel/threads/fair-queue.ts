/**
 * A queue that runs one task at a time. Owners take turns, so an owner with many tasks does not delay the
 * others.
 */

export interface FairQueue {
  /** Throws `refused()` if too many tasks wait, for this owner or in total. */
  run<Result>(owner: string, task: () => Promise<Result>): Promise<Result>;
}

export function createFairQueue(bounds: { ofOne: number; inAll: number }, refused: () => Error): FairQueue {
  /** In the order of turns: the first owner is next. */
  const waiting = new Map<string, (() => Promise<void>)[]>();
  let count = 0;
  let isRunning = false;

  async function runAll(): Promise<void> {
    isRunning = true;
    for (let [next] = waiting; next !== undefined; [next] = waiting) {
      const [owner, tasks] = next;
      const task = tasks.shift();
      waiting.delete(owner);
      if (tasks.length > 0) waiting.set(owner, tasks);
      count -= 1;
      await task?.();
    }
    isRunning = false;
  }

  return {
    async run(owner, task) {
      const ofOwner = waiting.get(owner) ?? [];
      if (ofOwner.length >= bounds.ofOne || count >= bounds.inAll) throw refused();
      return new Promise((resolve, reject) => {
        ofOwner.push(() => task().then(resolve, reject));
        waiting.set(owner, ofOwner);
        count += 1;
        if (!isRunning) void runAll();
      });
    },
  };
}
