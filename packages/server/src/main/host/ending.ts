/** The end of the server: what was started is ended in the reverse order, each phase within a bound. */
import type { LogOutput } from './log-output.ts';

/** Each phase of the shutdown is given up after this. */
const phaseMilliseconds = 25_000;
/** A log that hangs must not hold up the end. */
const logMilliseconds = 1_000;

export type Ending = [name: string, end: () => Promise<unknown> | unknown];

interface Running {
  stopping: AbortController;
  starting: Promise<void>;
  endings: readonly Ending[];
  output: LogOutput;
}

/**
 * SIGINT, SIGTERM and SIGHUP end the server in order; a second signal ends it at once. Answers what ends it
 * with an exit code.
 */
export function endOnSignals({
  stopping,
  starting,
  endings,
  output,
}: Running): (code: number) => Promise<void> {
  const { log } = output;
  let begun = false;

  async function end(code: number): Promise<void> {
    if (begun) return;
    begun = true;
    stopping.abort();
    // What is being started is waited for: it could not be ended otherwise.
    await bounded(output, 'the start', () => starting.catch(() => undefined));
    for (const [name, close] of endings.toReversed()) await bounded(output, name, close);
    await exit(output, code);
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (begun) return void exit(output, 130);
      log.info({ signal }, 'the server stops');
      if (signal === 'SIGINT' && process.stdout.isTTY)
        console.log('\nStopping … press Ctrl-C again to end at once.');
      void end(0);
    });
  }
  return end;
}

async function bounded(
  output: LogOutput,
  name: string,
  phase: () => Promise<unknown> | unknown,
): Promise<void> {
  const { log } = output;
  const late = setTimeout(() => {
    log.error({ phase: name }, 'the shutdown takes too long and is given up');
    void exit(output, 1);
  }, phaseMilliseconds);
  try {
    await phase();
  } catch (failure) {
    log.error({ err: failure, phase: name }, 'a part could not be ended');
  }
  clearTimeout(late);
}

/** Writes the rest of the log, and ends the process. */
async function exit(output: LogOutput, code: number): Promise<never> {
  // Node waits at its exit for a write that hangs, such as one to a pipe that is not read.
  if (!(await output.close(logMilliseconds))) process.kill(process.pid, 'SIGKILL');
  process.exit(code);
}
