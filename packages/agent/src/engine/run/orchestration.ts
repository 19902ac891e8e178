/** Walks an orchestration: starts ready components, several at a time, until the walk has an outcome. */
import {
  type Branches,
  concurrencyLimit,
  createBranches,
  createWalk,
  listTargets,
  type Orchestration,
  type OrchestrationComponent,
  type Walk,
} from '@headgate/pipelines';
import type { ActionResult } from '../context/action-context.ts';
import { describeFailure, type PipelineRun } from '../context/run-context.ts';
import { reportKept, skipCancelled } from '../context/step.ts';
import type { RunOutcome } from '../ports/ports.ts';
import { getEnd, runComponent } from './component-run.ts';

export async function runOrchestration(run: PipelineRun<Orchestration>): Promise<RunOutcome> {
  const walk = createWalk(run.pipeline);
  const branches = createBranches(run.pipeline, run.scope);
  const running = new Set<Promise<void>>();
  const failures = new Map<string, string>();
  let halted: RunOutcome | undefined;
  const waiting = passKept(run, walk, branches);
  const open = new Map(run.restarted?.open.map((each) => [each.component, each]));

  async function runOne(component: OrchestrationComponent): Promise<void> {
    const restarted = open.get(component.name);
    const scope = branches.getScope(component.name);
    const result = await runComponent(run, component, scope, { iterators: [], restarted });
    if (result.status === 'CANCELLED') {
      halted ??= result;
      return;
    }
    if (result.status === 'FAILED')
      failures.set(component.name, await describeResult(run, component, result));
    branches.pass(component.name, listTargets(component, getEnd(result)));
    walk.finish(component.name, getEnd(result));
  }

  for (;;) {
    const first = waiting.splice(0, concurrencyLimit - running.size);
    const ready = walk.takeReady(concurrencyLimit - running.size - first.length);
    for (const component of [...first, ...ready]) {
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

/**
 * Passes the components that a restart keeps, before any other one runs: one that runs may end the walk. Returns
 * the components that are ready then.
 */
function passKept(run: PipelineRun<Orchestration>, walk: Walk, branches: Branches): OrchestrationComponent[] {
  const retained = new Map(run.restarted?.kept.map((each) => [each.component, each]));
  if (retained.size === 0) return [];
  const waiting: OrchestrationComponent[] = [];
  for (let ready = walk.takeReady(); ready.length > 0; ready = walk.takeReady()) {
    for (const component of ready) {
      const before = retained.get(component.name);
      if (before === undefined) waiting.push(component);
      else {
        reportKept(run, component, before);
        branches.pass(component.name, listTargets(component, before.end));
        walk.finish(component.name, before.end);
      }
    }
  }
  return waiting;
}

/** The message of a called pipeline already says where it failed. */
async function describeResult(
  run: PipelineRun<Orchestration>,
  component: OrchestrationComponent,
  { message = 'no message', fromChild }: ActionResult,
): Promise<string> {
  return fromChild === true ? message : describeFailure(run, component.name, message);
}

function createOutcome({ status, message }: RunOutcome): RunOutcome {
  return message === undefined ? { status } : { status, message };
}
