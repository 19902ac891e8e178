/** One run of one component of an orchestration: its step, its action, its post-processing. */
import {
  type ComponentEnd,
  type Evaluation,
  interpolate,
  listTargets,
  type Orchestration,
  type OrchestrationComponent,
  type Pipeline,
  planComponent,
  type VariableScope,
} from '@headgate/pipelines';
import { perform } from '../actions/action.ts';
import { assign, assignGrid } from '../actions/variable-actions.ts';
import type { ActionResult, RestartedComponent, RunTarget } from '../context/action-context.ts';
import { addNotes, addRepeatedKeys } from '../context/notes.ts';
import { createSystemVariables, getMessage, type PipelineRun } from '../context/run-context.ts';
import { type EndRecord, type RunningStep, type StepPlace, startStep } from '../context/step.ts';
import { runAttempts } from './attempts.ts';

/** The iterators around a component, and where its step stands in them. */
interface Iterated {
  readonly iterators: readonly string[];
  readonly place?: StepPlace;
  readonly restarted?: RestartedComponent | undefined;
}

/** Never rejects: an error is the component's failure. */
export async function runComponent(
  run: PipelineRun<Orchestration>,
  component: OrchestrationComponent,
  scope: VariableScope = run.scope,
  { iterators, place = {}, restarted }: Iterated = { iterators: [] },
): Promise<ActionResult & { skipped?: boolean }> {
  const inScope = { ...place, scope };
  if (component.skipped) {
    startStep(run, component, inScope).finish('SKIPPED', {}, { next: listTargets(component, 'SKIPPED') });
    return { status: 'SUCCESS', skipped: true };
  }
  const inside = { iterators: [...iterators, component.name] };
  // Only the first attempt continues what was done before.
  let continued = restarted;
  return runAttempts(run, component, inScope, {
    perform(limited, step) {
      const before = continued;
      continued = undefined;
      return performComponent(limited, component, step, scope, { ...inside, restarted: before });
    },
    complete: (step, result) => postProcess(run, component, step, scope, result),
    describeEnd: (result) => describeEnd(component, result),
  });
}

/** How the component ended, for the walk. */
export function getEnd(result: ActionResult & { skipped?: boolean }): ComponentEnd {
  if (result.skipped === true) return 'SKIPPED';
  if (result.status !== 'SUCCESS') return 'FAILED';
  if (result.branch === undefined) return 'SUCCESS';
  return result.branch ? 'TRUE' : 'FALSE';
}

/** A cancelled component leads nowhere. */
function describeEnd(component: OrchestrationComponent, result: ActionResult): EndRecord {
  if (result.status === 'CANCELLED') return {};
  const { branch } = result;
  return { next: listTargets(component, getEnd(result)), ...(branch === undefined ? {} : { branch }) };
}

async function performComponent(
  run: PipelineRun<Orchestration>,
  component: OrchestrationComponent,
  step: RunningStep,
  scope: VariableScope,
  { iterators, restarted }: Iterated,
): Promise<ActionResult> {
  const engine = run.context.expressions;
  const evaluation: Evaluation = { engine, scope, sysvar: createSystemVariables(run, step.current()) };
  const parent = step.current().stepId;
  const runTarget: RunTarget = (target, { scope: branch }, { isConcurrent = false, ...place }, before) =>
    runIterationTarget(isConcurrent ? enterIteration(run) : run, target, branch, {
      iterators,
      place: { ...place, parent },
      restarted: before,
    });
  const { action, withoutEffect } = await planComponent(
    run.pipeline,
    component,
    run.context.dialect,
    evaluation,
  );
  const watched = showStatements(run, step);
  const continued = restarted === undefined ? {} : { restarted };
  const input = { run: watched, component, step, evaluation, runTarget, ...continued };
  const result = await addRepeatedKeys(await perform(action, input), run, step);
  return addNotes(result, withoutEffect);
}

function enterIteration<P extends Pipeline>(run: PipelineRun<P>): PipelineRun<P> {
  return { ...run, context: { ...run.context, warehouse: run.context.warehouse.enterIteration() } };
}

/** The same run, with a warehouse session that shows its statements in the step. */
export function showStatements<P extends Pipeline>(run: PipelineRun<P>, step: RunningStep): PipelineRun<P> {
  const label = run.context.dialect.label(step.current().name);
  const warehouse = run.context.warehouse.watch(step.noteStatement, label);
  return { ...run, context: { ...run.context, warehouse } };
}

async function runIterationTarget(
  run: PipelineRun<Orchestration>,
  name: string,
  scope: VariableScope,
  iterated: Iterated,
): Promise<ActionResult> {
  const { iterators } = iterated;
  const target = run.pipeline.components.get(name);
  if (target === undefined) {
    return {
      status: 'FAILED',
      message: `the iterationTarget "${name}" is not a component of ${run.pipeline.path}: name the component to run`,
    };
  }
  if (iterators.includes(name)) {
    return {
      status: 'FAILED',
      message: `the iterators form a cycle: ${[...iterators, name].join(' → ')}: name another component`,
    };
  }
  return runComponent(run, target, scope, iterated);
}

/** The expressions can read how the component ended. If one fails, the component fails. */
async function postProcess(
  run: PipelineRun,
  component: OrchestrationComponent,
  step: RunningStep,
  scope: VariableScope,
  { childScope, ...result }: ActionResult,
): Promise<ActionResult> {
  const { updateScalarVariables, updateGridVariables, outputMessage } = component;
  if (updateScalarVariables.length + updateGridVariables.length === 0 && outputMessage === undefined)
    return result;
  const { status, message, rowCount } = result;
  const finishedAt = run.context.ports.now().toISOString();
  const outcome = {
    ...step.current(),
    status,
    finishedAt,
    ...(message === undefined ? {} : { message }),
    ...(rowCount === undefined ? {} : { rowCount }),
  };
  const sysvar = createSystemVariables(run, outcome, childScope);
  const evaluation = { engine: run.context.expressions, scope, sysvar };
  try {
    for (const [variable, value] of updateScalarVariables)
      await assign(run.context, variable, value, evaluation);
    for (const { variable, rows } of updateGridVariables)
      await assignGrid(run.context, variable, rows, evaluation);
    if (outputMessage === undefined) return result;
    const added = String((await interpolate(outputMessage, evaluation)) ?? '');
    return { ...result, message: message === undefined ? added : `${message}\n${added}` };
  } catch (error) {
    if (status !== 'SUCCESS') return result;
    return { ...result, status: 'FAILED', message: `the post-processing failed: ${getMessage(error)}` };
  }
}
