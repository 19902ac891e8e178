/** What is done now and then, by every server, and none minds the others. */
import { removeExpiredAnswers } from '../kernel/idempotency.ts';
import { sweepBatch, sweepWork } from '../kernel/work.ts';
import type { Dependencies } from './deps.ts';

const workEveryMilliseconds = 1_000;
/** Well within the time that a new signing key waits, and how long at most a leaked one is still accepted. */
const keysEveryMilliseconds = 10_000;
const answersEveryMilliseconds = 60_000;

export interface Sweeper {
  stop(): Promise<void>;
}

export function startSweeper(deps: Dependencies): Sweeper {
  const rounds = [
    // Work whose lease, grace or bound has passed.
    repeat(deps, workEveryMilliseconds, async () => {
      const moved = await sweepWork(deps, deps.owners, deps.times, deps.clock.now());
      return moved === sweepBatch;
    }),
    repeat(deps, keysEveryMilliseconds, async () => {
      await deps.signingKeys.refresh();
      return false;
    }),
    repeat(deps, answersEveryMilliseconds, () => removeExpiredAnswers(deps.database.read, deps.clock.now())),
  ];
  return {
    async stop() {
      await Promise.all(rounds.map((round) => round.stop()));
    },
  };
}

/** Runs a round again and again; while it says that there is more, at once. */
function repeat(deps: Dependencies, everyMilliseconds: number, round: () => Promise<boolean>): Sweeper {
  let running: Promise<void> = Promise.resolve();
  let timer = setTimeout(begin, everyMilliseconds);

  async function sweep(): Promise<void> {
    try {
      while ((await round()) && !deps.stopping.aborted);
    } catch (failure) {
      deps.log.warn({ err: failure }, 'a sweep failed; the next one comes');
    }
    if (!deps.stopping.aborted) timer = setTimeout(begin, everyMilliseconds);
  }

  function begin(): void {
    running = sweep();
  }

  return {
    async stop() {
      clearTimeout(timer);
      await running;
    },
  };
}
