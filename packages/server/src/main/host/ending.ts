/** Stops the server: ends what was started in reverse order, with a time limit for each phase. */
import type { LogOutput } from './log-output.ts';

/** The time limit of each phase. */
const phaseMilliseconds = 25_000;
/** A log that hangs must not delay the exit. */
const logMilliseconds = 1_000;

export type Ending = [name: string, end: () => Promise<unknown> | unknown];

interface Running {
  stopping: AbortController;
  starting: Promise<void>;
  endings: readonly Ending[];
  output: LogOutput;
}

/**
 * SIGINT, SIGTERM and SIGHUP stop the server in order; a second signal stops it at once. Returns the
 * function that stops it with an exit code.
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
    // Wait for the start: what it has half started could not be stopped.
    await runPhase(output, 'the start', () => starting.catch(() => undefined));
    for (const [name, close] of endings.toReversed()) await runPhase(output, name, close);
    await exit(output, code);
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (begun) return void exit(output, 130);
      log.info({ signal }, 'stopping the server');
      if (signal === 'SIGINT' && process.stdout.isTTY)
        console.log('\nStopping … press Ctrl-C again to stop at once.');
      void end(0);
    });
  }
  return end;
}

async function runPhase(
  output: LogOutput,
  name: string,
  phase: () => Promise<unknown> | unknown,
): Promise<void> {
  const { log } = output;
  const late = setTimeout(() => {
    log.error({ phase: name }, 'a shutdown phase timed out; the server exits');
    void exit(output, 1);
  }, phaseMilliseconds);
  try {
    await phase();
  } catch (failure) {
    log.error({ err: failure, phase: name }, 'a shutdown phase failed');
  }
  clearTimeout(late);
}

/** Writes the rest of the log and exits. */
async function exit(output: LogOutput, code: number): Promise<never> {
  // At exit Node waits for a hanging write, such as one to a pipe that is not read.
  if (!(await output.close(logMilliseconds))) process.kill(process.pid, 'SIGKILL');
  process.exit(code);
}
