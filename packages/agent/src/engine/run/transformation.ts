/** Runs a transformation: plans all of it, then runs one step for each output. */
import {
  planTransformation,
  resolveParameters,
  type StatementList,
  type Transformation,
  type TransformationComponent,
} from '@headgate/pipelines';
import type { ActionResult } from '../context/action-context.ts';
import { addNotes, addRepeatedKeys } from '../context/notes.ts';
import {
  createSystemVariables,
  describeFailure,
  getMessage,
  type PipelineRun,
} from '../context/run-context.ts';
import { type RunningStep, reportKept, skipCancelled, startStep } from '../context/step.ts';
import type { RunOutcome } from '../ports/ports.ts';
import { runAttempts } from './attempts.ts';
import { showStatements } from './component-run.ts';

/** Tables that one component may read. */
const catalogRowLimit = 10_000;

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
    return createFailure(run, failure.component, getMessage(failure.error));
  }
  const retained = new Map(run.restarted?.kept.map((each) => [each.component, each]));
  for (const [index, { component, type, withoutEffect, ...list }] of outputs.entries()) {
    const halted = context.findHalt();
    if (halted !== undefined) {
      for (const { component: name, type } of outputs.slice(index))
        skipCancelled(run, { name, type }, halted);
      return halted;
    }
    const before = retained.get(component);
    if (before !== undefined) {
      reportKept(run, { name: component, type }, before);
      continue;
    }
    const attempts = run.pipeline.components.get(component)?.attempts;
    const output = { name: component, type, ...(attempts === undefined ? {} : { attempts }) };
    const { status, message } = await runAttempts(
      run,
      output,
      {},
      {
        perform: async (limited, step) => addNotes(await execute(limited, step, list), withoutEffect),
        describeEnd: (result) => ({
          next: outputs
            .slice(index + 1, result.status === 'SUCCESS' ? index + 2 : 0)
            .map((each) => each.component),
        }),
      },
    );
    if (status === 'FAILED') return createFailure(run, component, message ?? 'no message');
    if (status === 'CANCELLED') return { status, ...(message === undefined ? {} : { message }) };
  }
  return { status: 'SUCCESS' };
}

function plan(run: PipelineRun<Transformation>) {
  const { context, pipeline, scope } = run;
  const resolve = (component: TransformationComponent) => {
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
  };
  return planTransformation(pipeline, context.dialect, resolve, {
    query: (sql) => context.warehouse.query(sql, catalogRowLimit),
  });
}

async function execute(run: PipelineRun, step: RunningStep, list: StatementList): Promise<ActionResult> {
  const { rowCount } = await showStatements(run, step).context.warehouse.executeAll(list);
  return addRepeatedKeys({ status: 'SUCCESS', rowCount }, run, step);
}

async function createFailure(run: PipelineRun, component: string, message: string): Promise<RunOutcome> {
  return { status: 'FAILED', message: await describeFailure(run, component, message) };
}
