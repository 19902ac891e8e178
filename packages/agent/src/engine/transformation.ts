/** Runs a transformation: plans all of it, then runs one step for each output. */
import {
  planTransformation,
  resolveParameters,
  type StatementList,
  type Transformation,
} from '@headgate/pipelines';
import { showStatements } from './component-run.ts';
import { addNotes } from './notes.ts';
import type { RunOutcome } from './ports.ts';
import { createSystemVariables, getMessage, type PipelineRun } from './run-context.ts';
import { type RunningStep, skipCancelled, startStep } from './step.ts';

export async function runTransformation(run: PipelineRun<Transformation>): Promise<RunOutcome> {
  const { context } = run;
  const { outputs, failures } = await plan(run);
  for (const { component, type, error } of failures) {
    startStep(run, { name: component, type }).finish('FAILED', { message: getMessage(error) });
  }
  const [failure] = failures;
  if (failure !== undefined) {
    for (const { component, type } of outputs) {
      const message = `not run, because "${failure.component}" cannot run`;
      startStep(run, { name: component, type }).finish('SKIPPED', { message });
    }
    return createFailure(run, failure.component, failure.error);
  }
  for (const [index, { component, type, withoutEffect, ...list }] of outputs.entries()) {
    const halted = context.findHalt();
    if (halted !== undefined) {
      for (const { component: name, type } of outputs.slice(index))
        skipCancelled(run, { name, type }, halted);
      return halted;
    }
    const step = startStep(run, { name: component, type });
    const error = await execute(run, step, list, withoutEffect);
    if (error !== undefined) return createFailure(run, component, error);
  }
  return { status: 'SUCCESS' };
}

function plan(run: PipelineRun<Transformation>) {
  const { context, pipeline, scope } = run;
  return planTransformation(pipeline, context.dialect, (component) => {
    // Planning comes before any step, so `sysvar.thisComponent` has only a name yet.
    const step = {
      name: component.name,
      stepId: '',
      pipelineRunId: run.pipelineRunId,
      componentType: component.type,
    } as const;
    const sysvar = createSystemVariables(run, {
      ...step,
      status: 'RUNNING',
      startedAt: context.ports.now().toISOString(),
    });
    return resolveParameters(component.parameters, { engine: context.expressions, scope, sysvar });
  });
}

async function execute(
  run: PipelineRun,
  step: RunningStep,
  list: StatementList,
  withoutEffect: readonly string[],
): Promise<unknown> {
  try {
    const { rowCount } = await showStatements(run, step).context.warehouse.executeAll(list);
    const { status, ...change } = addNotes({ status: 'SUCCESS' as const, rowCount }, withoutEffect);
    step.finish(status, change);
    return undefined;
  } catch (error) {
    step.finish('FAILED', { message: getMessage(error) });
    return error ?? new Error('no message');
  }
}

function createFailure(run: PipelineRun, component: string, error: unknown): RunOutcome {
  return { status: 'FAILED', message: `${run.pipeline.path}: "${component}" failed: ${getMessage(error)}` };
}
