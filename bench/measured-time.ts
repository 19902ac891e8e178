/** What a piece of work takes of this process. */

/** Milliseconds. */
export async function measureTime(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

const sampleMilliseconds = 20;
const readMebibytes = () => process.memoryUsage().rss / 1_048_576;

/** Milliseconds, and the resident memory in MiB before the work and at its peak. */
export async function measureLoad(
  work: () => Promise<unknown>,
): Promise<{ time: number; before: number; peak: number }> {
  const before = readMebibytes();
  let peak = before;
  const sampling = setInterval(() => {
    peak = Math.max(peak, readMebibytes());
  }, sampleMilliseconds);
  const time = await measureTime(work).finally(() => clearInterval(sampling));
  return { time, before, peak };
}
