/** An instance of the agent: the agent's own session, with runs that only take time. */
import type { Handler } from '../../packages/agent/src/handlers/handler.ts';
import { createLog } from '../../packages/agent/src/log.ts';
import { Session } from '../../packages/agent/src/session/session.ts';
import type { History } from './history.ts';
import { simulatedControlPlane, type Way } from './network.ts';
import type { Life } from './virtual-time.ts';

const quiet = createLog({ level: 'error', write: () => undefined });
const stepsAtMost = 4;

export interface Instance extends Life {
  instanceId: string;
  session: Session;
  concurrency: number;
  cutUntil: number;
  stopping: boolean;
  /** Running handlers. */
  busy: number;
}

export interface Runs {
  history: History;
  /** The run of this work waits for this instead of running steps. */
  held(workId: string): Promise<void> | undefined;
}

export function startInstance(way: Way, runs: Runs, instanceId: string, concurrency: number): Instance {
  const life = {
    dead: false,
    frozenUntil: 0,
    cutUntil: 0,
    stopping: false,
    instanceId,
    concurrency,
    busy: 0,
  };
  const instance = life as Instance;
  const handler = handlerOf(way, runs, instance);
  instance.session = new Session({
    controlPlane: simulatedControlPlane(way, instance),
    handlers: new Proxy({}, { get: () => handler }) as Record<'pipeline-execution', Handler>,
    instanceId,
    agentVersion: '0',
    concurrency,
    shortConcurrency: concurrency,
    shutdownSeconds: 10,
    log: quiet,
    time: way.time.of(instance),
  });
  void instance.session.run();
  return instance;
}

function handlerOf({ time, random }: Way, { history, held }: Runs, instance: Instance): Handler {
  const clock = time.of(instance);
  return async ({ workId, epoch }, context) => {
    const end = (status: 'SUCCESS' | 'FAILED' | 'CANCELLED') => {
      history.handled(workId, epoch, status);
      return { status };
    };
    instance.busy += 1;
    try {
      // Fetches the files.
      await clock.sleep(random() * 3_000, context.kill);
      context.kill.throwIfAborted();
      if (context.cancel.aborted) return end('CANCELLED');
      await context.reportStarted();
      context.kill.throwIfAborted();
      history.begun(workId, epoch);
      const holding = held(workId);
      if (holding !== undefined) {
        await holding;
        return end('SUCCESS');
      }
      const steps = Math.ceil(random() * stepsAtMost);
      const longest = random() < 0.1 ? 40_000 : 4_000;
      for (let step = 0; step < steps; step += 1) {
        const stepId = `${workId} ${epoch} ${step}`;
        const notice = { stepId, pipelineRunId: workId, name: 'step', componentType: 'sql-script' };
        context.step({ ...notice, status: 'RUNNING', startedAt: new Date(clock.now()).toISOString() });
        await clock.sleep((random() * longest) / steps, context.kill);
        context.kill.throwIfAborted();
        if (context.cancel.aborted) return end('CANCELLED');
      }
      return end(random() < 0.8 ? 'SUCCESS' : 'FAILED');
    } finally {
      instance.busy -= 1;
    }
  };
}
