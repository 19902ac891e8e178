/** How many times longer than on an idle machine an expression may take on a busy one. */
const mostTimesLonger = 8;

/**
 * Starts the time limit of an expression. It counts the time that this thread had a processor, because an expression
 * must not fail for the load of the machine. The clock bounds it too: a thread that is silent for long is ended.
 */
export function startTimeLimit(milliseconds: number): () => boolean {
  const began = performance.now();
  const before = process.threadCpuUsage();
  return () => {
    const passed = performance.now() - began;
    if (passed <= milliseconds) return false;
    if (passed > milliseconds * mostTimesLonger) return true;
    const { user, system } = process.threadCpuUsage(before);
    return user + system > milliseconds * 1_000;
  };
}
