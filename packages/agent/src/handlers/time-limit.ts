import type { AgentConfig } from '../config.ts';
import { followSignals } from '../followed-signals.ts';
import type { Outcome } from '../session/outbox.ts';
import { longestTimer } from '../time.ts';
import type { WorkContext } from './handler.ts';

/** Kills work that takes longer than the limit of the server and the agent. */
export function limitTime<Work extends { payload: { timeLimitSeconds: number } }>(
  { config }: { config: Pick<AgentConfig, 'runTimeLimitSeconds'> },
  run: (work: Work, context: WorkContext) => Promise<Outcome>,
): (work: Work, context: WorkContext) => Promise<Outcome> {
  return async (work, context) => {
    const seconds = Math.min(work.payload.timeLimitSeconds, config.runTimeLimitSeconds);
    const { controller: kill, release } = followSignals([context.kill]);
    let isLate = false;
    const end = () => {
      isLate = !kill.signal.aborted;
      kill.abort();
    };
    const timer = setTimeout(end, Math.min(seconds * 1_000, longestTimer));
    try {
      return await run(work, { ...context, kill: kill.signal });
    } catch (error) {
      if (!isLate) throw error;
      return {
        status: 'FAILED',
        message: `the run exceeded its time limit of ${seconds} s and was killed; the running step may have had effects`,
      };
    } finally {
      clearTimeout(timer);
      release();
    }
  };
}
