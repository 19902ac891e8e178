/**
 * Tasks that run one at a time, and owners that take turns: who has many waiting waits for those of others in
 * between.
 */

export interface FairQueue {
  /** Throws what `refused` makes when too many wait, of this owner or in all. */
  run<Result>(owner: string, task: () => Promise<Result>): Promise<Result>;
}

export function createFairQueue(bounds: { ofOne: number; inAll: number }, refused: () => Error): FairQueue {
  /** The owner whose turn is next comes first. */
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
