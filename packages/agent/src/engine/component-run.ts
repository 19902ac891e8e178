/** One run of one component of an orchestration: its step, its action, its post-processing. */
import {
  type Evaluation,
  type Orchestration,
  type OrchestrationComponent,
  type Pipeline,
  planComponent,
  type VariableScope,
} from '@headgate/pipelines';
import { assign, perform } from './action.ts';
import type { ActionResult, RunTarget } from './action-context.ts';
import { createSystemVariables, getMessage, type PipelineRun } from './run-context.ts';
import { type RunningStep, startStep } from './step.ts';

/** Never rejects: an error is the component's failure. `iterators`: the iterators around the component. */
export async function runComponent(
  run: PipelineRun<Orchestration>,
  component: OrchestrationComponent,
  scope: VariableScope = run.scope,
  iterators: readonly string[] = [],
): Promise<ActionResult & { skipped?: boolean }> {
  const step = startStep(run, component);
  if (component.skipped) {
    step.finish('SKIPPED');
    return { status: 'SUCCESS', skipped: true };
  }
  const engine = run.context.expressions;
  const evaluation: Evaluation = { engine, scope, sysvar: createSystemVariables(run, step.current()) };
  const inside = [...iterators, component.name];
  const runTarget: RunTarget = (target, { scope: branch }) => runIterationTarget(run, target, branch, inside);
  let result: ActionResult;
  try {
    const action = await planComponent(run.pipeline, component, run.context.dialect, evaluation);
    result = await perform(action, {
      run: showStatements(run, step),
      component,
      step,
      evaluation,
      runTarget,
    });
  } catch (error) {
    result = { status: 'FAILED', message: getMessage(error) };
  }
  result = await postProcess(run, component, step, scope, result);
  const { status, message, rowCount } = result;
  step.finish(status, {
    ...(message === undefined ? {} : { message }),
    ...(rowCount === undefined ? {} : { rowCount }),
  });
  return result;
}

/** The same run, with a warehouse session that shows its statements in the step. */
export function showStatements<P extends Pipeline>(run: PipelineRun<P>, step: RunningStep): PipelineRun<P> {
  const warehouse = run.context.warehouse.watch(step.noteStatement);
  return { ...run, context: { ...run.context, warehouse } };
}

async function runIterationTarget(
  run: PipelineRun<Orchestration>,
  name: string,
  scope: VariableScope,
  iterators: readonly string[],
): Promise<ActionResult> {
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
  return runComponent(run, target, scope, iterators);
}

/** The expressions can read how the component ended. If one fails, the component fails. */
async function postProcess(
  run: PipelineRun,
  component: OrchestrationComponent,
  step: RunningStep,
  scope: VariableScope,
  result: ActionResult,
): Promise<ActionResult> {
  if (component.updateScalarVariables.length === 0) return result;
  const { status, message, rowCount } = result;
  const finishedAt = run.context.ports.now().toISOString();
  const ended = {
    ...step.current(),
    status,
    finishedAt,
    ...(message === undefined ? {} : { message }),
    ...(rowCount === undefined ? {} : { rowCount }),
  };
  const evaluation = { engine: run.context.expressions, scope, sysvar: createSystemVariables(run, ended) };
  try {
    for (const [variable, expression] of component.updateScalarVariables) {
      await assign(run.context, variable, expression, evaluation);
    }
    return result;
  } catch (error) {
    if (status !== 'SUCCESS') return result;
    return { ...result, status: 'FAILED', message: `the post-processing failed: ${getMessage(error)}` };
  }
}
