/** Steps that wait, a queue for each run. Runs take turns, so that one with many steps does not hold up the others. */

interface Waiting {
  request: { run: number };
}

export interface RunQueues<Job extends Waiting> {
  readonly size: number;
  add(job: Job): void;
  remove(job: Job): void;
  /** The first one of the run whose turn it is. */
  take(): Job | undefined;
  /** Removes the last one of the run with the most. */
  dropLongest(): Job | undefined;
  /** Removes all. */
  clear(): Job[];
}

export function createRunQueues<Job extends Waiting>(): RunQueues<Job> {
  /** The run whose turn it is first. */
  const queues = new Map<number, Job[]>();
  let size = 0;

  function shorten(run: number, queue: Job[], job: Job | undefined): Job | undefined {
    if (queue.length === 0) queues.delete(run);
    if (job !== undefined) size -= 1;
    return job;
  }

  return {
    get size() {
      return size;
    },
    add(job) {
      const { run } = job.request;
      const queue = queues.get(run) ?? [];
      queue.push(job);
      queues.set(run, queue);
      size += 1;
    },
    remove(job) {
      const { run } = job.request;
      const queue = queues.get(run) ?? [];
      const at = queue.indexOf(job);
      if (at >= 0) shorten(run, queue, queue.splice(at, 1)[0]);
    },
    take() {
      for (const [run, queue] of queues) {
        queues.delete(run);
        queues.set(run, queue);
        return shorten(run, queue, queue.shift());
      }
      return undefined;
    },
    dropLongest() {
      const [longest] = [...queues].toSorted(([, one], [, other]) => other.length - one.length);
      return longest === undefined ? undefined : shorten(longest[0], longest[1], longest[1].pop());
    },
    clear() {
      const all = [...queues.values()].flat();
      queues.clear();
      size = 0;
      return all;
    },
  };
}
