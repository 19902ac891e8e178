/**
 * A queue that runs one task at a time. Owners take turns, so an owner with many tasks does not delay the
 * others. The parts of an owner, such as the projects of an account, take turns within those of the owner.
 */

/** An owner, or an owner and its part. */
export type QueueOwner = string | readonly [owner: string, part: string];

export interface FairQueue {
  /** Throws `refused()` if too many tasks wait: for this owner or its part, or in total. */
  run<Result>(owner: QueueOwner, task: () => Promise<Result>): Promise<Result>;
}

type Task = () => Promise<void>;

/** Parts of an owner in the order of turns, and how many tasks they have. */
interface Parts {
  waiting: Map<string, Task[]>;
  count: number;
}

/** An owner with many parts has this many times the tasks of one part. */
const partsOfOwner = 4;

/** Takes the first entry, which goes to the end if `mustStay` says so of its value. */
function rotate<Value>(queue: Map<string, Value>, mustStay: (value: Value) => boolean): void {
  const [first] = queue;
  if (first === undefined) return;
  queue.delete(first[0]);
  if (mustStay(first[1])) queue.set(...first);
}

/** `ofOne` is the bound of one part of an owner. */
export function createFairQueue(bounds: { ofOne: number; inAll: number }, refused: () => Error): FairQueue {
  /** In the order of turns: the first owner is next. */
  const waiting = new Map<string, Parts>();
  let count = 0;
  let isRunning = false;

  async function runAll(): Promise<void> {
    isRunning = true;
    for (let [owner] = waiting.values(); owner !== undefined; [owner] = waiting.values()) {
      const [tasks = []] = owner.waiting.values();
      const task = tasks.shift();
      owner.count -= 1;
      count -= 1;
      rotate(owner.waiting, ({ length }) => length > 0);
      rotate(waiting, (parts) => parts.count > 0);
      await task?.();
    }
    isRunning = false;
  }

  return {
    async run(owner, task) {
      const [name, part] = typeof owner === 'string' ? [owner, ''] : owner;
      const parts = waiting.get(name) ?? { waiting: new Map(), count: 0 };
      const tasks = parts.waiting.get(part) ?? [];
      const isFull = tasks.length >= bounds.ofOne || parts.count >= partsOfOwner * bounds.ofOne;
      if (isFull || count >= bounds.inAll) throw refused();
      return new Promise((resolve, reject) => {
        tasks.push(() => task().then(resolve, reject));
        parts.waiting.set(part, tasks);
        parts.count += 1;
        waiting.set(name, parts);
        count += 1;
        if (!isRunning) void runAll();
      });
    },
  };
}
