/** Runs another pipeline for a component. */
import { type Action, type CallArguments, type PipelineType, pipelineTypeOf } from '@headgate/pipelines';
import type { ActionContext, ActionResult } from '../context/action-context.ts';
import type { RunArtifact } from '../context/run-context.ts';

export async function runCalledPipeline(
  { pipelineName, scalars, grids }: CallArguments & { pipelineName: string },
  { artifact, type }: { artifact: RunArtifact; type: PipelineType | undefined },
  { run, step, evaluation, restarted }: ActionContext,
): Promise<ActionResult> {
  const { context, chain } = run;
  const pipelineRunId = context.ports.newId();
  const scope = evaluation.scope;
  const onFound = (path: string) =>
    step.change({ childPipeline: { id: pipelineRunId, name: `${artifact.checked.prefix}${path}` } });
  const continued = restarted?.run === undefined ? undefined : context.request.restart?.runs[restarted.run];
  const call = {
    ...{ name: pipelineName, type, artifact, onFound, pipelineRunId, chain, scope, scalars, grids },
    ...(continued === undefined ? {} : { restarted: continued }),
  };
  // The statements of the called pipeline belong to its own steps.
  const within = { ...context, warehouse: context.warehouse.watch(() => undefined) };
  const { scope: childScope, ...outcome } = await context.call(call, within);
  return { ...outcome, ...(childScope === undefined ? {} : { childScope }), fromChild: true };
}

/** @throws Error unless the run is a test */
export async function runPipelineUnderTest(
  action: Extract<Action, { action: 'run-pipeline-under-test' }>,
  context: ActionContext,
): Promise<ActionResult> {
  const { artifact, pipeline } = context.run;
  if (context.run.context.asserts === undefined)
    throw new Error(
      `a test runs by itself, not as a part of another pipeline: start ${pipeline.path}, or run it by a test execution`,
    );
  return runCalledPipeline(action, { artifact, type: pipelineTypeOf(action.pipelineName) }, context);
}
