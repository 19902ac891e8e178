/** Walks an orchestration: starts ready components, several at a time, until the walk has an outcome. */
import {
  type ComponentEnd,
  concurrencyLimit,
  createWalk,
  type Orchestration,
  type OrchestrationComponent,
} from '@headgate/pipelines';
import type { ActionResult } from './action-context.ts';
import { runComponent } from './component-run.ts';
import type { RunOutcome } from './ports.ts';
import type { PipelineRun } from './run-context.ts';
import { skipCancelled } from './step.ts';

export async function runOrchestration(run: PipelineRun<Orchestration>): Promise<RunOutcome> {
  const walk = createWalk(run.pipeline);
  const running = new Set<Promise<void>>();
  const failures = new Map<string, string>();
  let halted: RunOutcome | undefined;

  async function runOne(component: OrchestrationComponent): Promise<void> {
    const result = await runComponent(run, component);
    if (result.status === 'CANCELLED') {
      halted ??= result;
      return;
    }
    if (result.status === 'FAILED')
      failures.set(component.name, describeFailure(run.pipeline, component, result));
    walk.finish(component.name, getEnd(result));
  }

  for (;;) {
    const ready = walk.takeReady(concurrencyLimit - running.size);
    for (const component of ready) {
      halted ??= run.context.findHalt();
      if (halted !== undefined) {
        skipCancelled(run, component, halted);
        continue;
      }
      const started: Promise<void> = runOne(component).finally(() => running.delete(started));
      running.add(started);
    }
    if (running.size === 0) break;
    await Promise.race(running);
  }
  if (halted !== undefined) return createOutcome(halted);
  const { status, component, backTo } = walk.outcome() ?? { status: 'SUCCESS' };
  if (status === 'SUCCESS') return { status };
  if (backTo !== undefined) {
    const message = `${run.pipeline.path}: "${component}" leads back to "${backTo}", which already ran; a component runs once: use an iterator to repeat`;
    return { status, message };
  }
  const message = failures.get(component ?? '') ?? `${run.pipeline.path} ended at "${component}"`;
  return { status, message };
}

function getEnd(result: ActionResult & { skipped?: boolean }): ComponentEnd {
  if (result.skipped === true) return 'SKIPPED';
  if (result.status !== 'SUCCESS') return 'FAILED';
  if (result.branch === undefined) return 'SUCCESS';
  return result.branch ? 'TRUE' : 'FALSE';
}

/** The message of a called pipeline already says where it failed. */
function describeFailure(
  pipeline: Orchestration,
  component: OrchestrationComponent,
  result: ActionResult,
): string {
  const message = result.message ?? 'no message';
  return result.fromChild === true ? message : `${pipeline.path}: "${component.name}" failed: ${message}`;
}

function createOutcome({ status, message }: RunOutcome): RunOutcome {
  return message === undefined ? { status } : { status, message };
}
