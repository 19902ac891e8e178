/** Carries out a component's action over the ports. An error thrown here fails the component. */
import {
  type Action,
  type CallArguments,
  datasetNames,
  ExpressionError,
  type ExpressionValue,
  evaluateExpression,
  interpolate,
  type PipelineType,
  type PlannedScript,
  pipelineTypeOf,
  shorten,
} from '@headgate/pipelines';
import type { ActionContext, ActionResult } from '../context/action-context.ts';
import type { RunArtifact } from '../context/run-context.ts';
import { waitUnlessHalted } from '../context/waiting.ts';
import { loadEndpoint } from '../endpoints/endpoint-load.ts';
import { nameFile, openFileToRead, requireLoadable, writeFileAtomically } from '../files/files.ts';
import { loadConverted } from '../objects/converted-load.ts';
import { copyFile } from '../objects/copied-file.ts';
import { fillExternal } from '../objects/external-table.ts';
import { loadObjects } from '../objects/object-load.ts';
import { transferObject, unloadObject } from '../objects/object-transfer.ts';
import { runInStore } from '../objects/run-in-store.ts';
import { writeRows } from '../objects/written-rows.ts';
import { iterateFiles } from './file-search.ts';
import { iterate, iterateQuery } from './iteration.ts';
import { runScript } from './script-action.ts';
import { assign, changeGrid, queryGrid, queryScalars } from './variable-actions.ts';

type Performers = {
  [A in Action['action']]: (
    action: Extract<Action, { action: A }>,
    context: ActionContext,
  ) => Promise<ActionResult>;
};

export function perform(action: Action, context: ActionContext): Promise<ActionResult> {
  const performer = performers[action.action] as (
    action: Action,
    context: ActionContext,
  ) => Promise<ActionResult>;
  return performer(action, context);
}

const success = { status: 'SUCCESS' } as const;
const succeed = (message: string | undefined): ActionResult =>
  message === undefined ? success : { ...success, message };

const performers: Performers = {
  pass: async ({ message }) => succeed(message),
  end: async () => success,
  async branch({ condition }, { evaluation }) {
    if (typeof condition === 'boolean') return { ...success, branch: condition, message: String(condition) };
    const branch = isTrue(await evaluateExpression(condition.expression, evaluation));
    return { ...success, branch, message: String(branch) };
  },
  execute,
  'execute-file': executeFile,
  'query-scalars': queryScalars,
  'query-grid': queryGrid,
  'change-grid': changeGrid,
  async 'update-scalars'({ updates }, { run, evaluation }) {
    for (const [variable, expression] of updates) await assign(run.context, variable, expression, evaluation);
    return success;
  },
  async print({ lines }, { run, step }) {
    const source = { step: step.current().stepId, stream: 'component' } as const;
    for (const line of lines) run.context.ports.log(line, source);
    return { ...success, message: lines.join('\n') };
  },
  assert: assertChecks,
  'run-pipeline-under-test': runPipelineUnderTest,
  'run-pipeline': (action, context) => {
    const { artifact } = context.run;
    return runCalledPipeline(action, { artifact, type: action.pipelineType }, context);
  },
  async 'run-shared-pipeline'(action, context) {
    const artifact = context.run.context.getSharedArtifact(action.use);
    const called = { artifact, type: pipelineTypeOf(action.pipelineName) };
    const result = await runCalledPipeline(action, called, context);
    // After a failure the message says where it happened; after a success it says which version ran.
    return { message: artifact.title, ...result };
  },
  iterate,
  'iterate-query': iterateQuery,
  'iterate-files': iterateFiles,
  retry,
  async 'load-file'(action, { run, step }) {
    const { source, before, statement, checks } = action;
    const { ports, warehouse, dialect, limit } = run.context;
    await using file = await openFileToRead(ports, run.artifact.files, source, limit);
    for (const shown of [file.path, file.name])
      step.nameFile(shown, { kind: 'file', name: datasetNames.file(file.name) });
    const { copy } = dialect;
    if (copy !== undefined) return copyFile(action, file, copy, run.context);
    await requireLoadable(checks, file, warehouse);
    const statements = [...before, statement(file.path)];
    try {
      return { ...success, ...(await warehouse.executeAll({ statements, counted: before.length })) };
    } catch (error) {
      throw nameFile(error, file);
    }
  },
  'load-converted': loadConverted,
  'load-endpoint': loadEndpoint,
  'load-objects': loadObjects,
  'fill-external-table': fillExternal,
  'unload-object': unloadObject,
  'run-in-store': runInStore,
  'transfer-object': transferObject,
  'run-script': runScript,
  async 'unload-file'({ target, ...written }, { run, step }) {
    const { ports, warehouse } = run.context;
    const { rowCount } = await writeFileAtomically(ports, target, (path) => {
      for (const shown of [path, target])
        step.nameFile(shown, { kind: 'file', name: datasetNames.file(target) });
      return writeRows({ ...written, name: target }, path, warehouse, run.context);
    });
    return { ...success, rowCount };
  },
};

/** Runs SQL statements, of a component or in a file of the artifact. */
async function execute(
  { statements, notes = [] }: PlannedScript,
  { run }: ActionContext,
): Promise<ActionResult> {
  const { rowCount } = await run.context.warehouse.executeScript(statements);
  const message = [...new Set(notes)].join('\n');
  return { status: 'SUCCESS', rowCount, ...(message === '' ? {} : { message }) };
}

async function executeFile(
  { path, resolve, plan }: Extract<Action, { action: 'execute-file' }>,
  context: ActionContext,
): Promise<ActionResult> {
  const { run, evaluation } = context;
  const text = await run.artifact.files.read(path);
  if (text === undefined)
    return {
      status: 'FAILED',
      message: `${run.artifact.title} has no file "${path}": publish it with the pipelines or correct the name`,
    };
  try {
    const script = resolve ? String((await interpolate(text, evaluation)) ?? '') : text;
    return await execute(plan(script), context);
  } catch (error) {
    throw new Error(`${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

/** Runs a target again until it succeeds. */
async function retry(
  { target, retries, delaySeconds }: Extract<Action, { action: 'retry' }>,
  { run: { context }, evaluation, runTarget }: ActionContext,
): Promise<ActionResult> {
  const attempts = retries + 1;
  for (let attempt = 1; ; attempt += 1) {
    const place = { label: `attempt ${attempt} of ${attempts}`, attempt };
    const result = await runTarget(target, evaluation, place);
    if (result.status === 'CANCELLED') return result;
    const counted = `${attempt} ${attempt === 1 ? 'attempt' : 'attempts'}`;
    if (result.status === 'SUCCESS') return { status: 'SUCCESS', message: `succeeded after ${counted}` };
    if (attempt === attempts)
      return { status: 'FAILED', message: `failed after ${counted}: ${result.message ?? 'no message'}` };
    const halted = (await waitUnlessHalted(context, delaySeconds(attempt) * 1_000)) ?? context.findHalt();
    if (halted !== undefined) return halted;
  }
}

/** Checks the rows of queries. */
async function assertChecks(
  { checks, fault: found }: Extract<Action, { action: 'assert' }>,
  { run, component }: ActionContext,
): Promise<ActionResult> {
  const { warehouse, request, asserts } = run.context;
  let counted: number | undefined;
  let fault = found;
  for (const check of checks) {
    if (fault !== undefined) break;
    const { rows } = await warehouse.query(check.query, request.bounds.variableRows);
    if (check.counts) counted = Number(rows[0]?.[0]);
    fault = check.verify(rows);
  }
  asserts?.add({ path: run.pipeline.path, component: component.name }, fault);
  const rowCount = counted === undefined ? {} : { rowCount: counted };
  if (fault !== undefined) return { status: 'FAILED', message: fault.message, ...rowCount };
  return { status: 'SUCCESS', ...rowCount };
}

/** Runs another pipeline for a component. */
async function runCalledPipeline(
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
  const within = { ...context, warehouse: context.warehouse.watch(() => () => undefined) };
  const { scope: childScope, ...outcome } = await context.call(call, within);
  return { ...outcome, ...(childScope === undefined ? {} : { childScope }), fromChild: true };
}

/** @throws Error unless the run is a test */
async function runPipelineUnderTest(
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

/** Whether a condition holds. Stricter than JavaScript, in which any other text is true, even a condition in quotes. */
function isTrue(value: ExpressionValue): boolean {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return value !== 0;
  const word = value?.trim().toLowerCase();
  if (word === 'true' || word === 'yes') return true;
  if (word === 'false' || word === 'no') return false;
  const yielded = value === null ? 'nothing' : JSON.stringify(shorten(value));
  throw new ExpressionError(
    `the condition yields ${yielded}, which is neither true nor false: write a comparison without quotes around it, as in n > 5`,
  );
}
