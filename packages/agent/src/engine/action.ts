/** Carries out a component's action over the ports. An error thrown here fails the component. */
import {
  type Action,
  type CallArguments,
  type Evaluation,
  ExpressionError,
  type ExpressionValue,
  evaluateExpression,
  interpolate,
  type PipelineType,
  type Plain,
  pipelineTypeOf,
  resolveParameters,
  shorten,
} from '@headgate/pipelines';
import type { ActionContext, ActionResult } from './action-context.ts';
import { findFileToRead, writeFileAtomically } from './files.ts';
import { iterate } from './iteration.ts';
import type { RunArtifact, RunContext } from './run-context.ts';

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

const performers: Performers = {
  pass: async () => success,
  end: async () => success,
  async branch({ condition }, { evaluation }) {
    if (typeof condition === 'boolean') return { ...success, branch: condition, message: String(condition) };
    const branch = isTrue(await evaluateExpression(condition.expression, evaluation));
    return { ...success, branch, message: String(branch) };
  },
  async execute({ statements }, { run }) {
    const { rowCount } = await run.context.warehouse.executeScript(statements);
    return { ...success, rowCount };
  },
  'query-scalars': queryScalars,
  async 'update-scalars'({ updates }, { run, evaluation }) {
    for (const [variable, expression] of updates) await assign(run.context, variable, expression, evaluation);
    return success;
  },
  async print({ lines }, { run }) {
    for (const line of lines) run.context.ports.log(line);
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
  async 'load-file'({ source, statement }, { run }) {
    const { ports, warehouse } = run.context;
    const path = await findFileToRead(ports, run.artifact.files, source);
    return { ...success, ...(await warehouse.execute(statement(path))) };
  },
  async 'unload-file'({ target, statement }, { run }) {
    const { ports, warehouse } = run.context;
    const { rowCount } = await writeFileAtomically(ports, target, (path) =>
      warehouse.execute(statement(path)),
    );
    return { ...success, rowCount };
  },
};

/** Sets a variable to a text in which expressions are replaced. */
export function assign(
  context: RunContext,
  variable: string,
  expression: string,
  evaluation: Evaluation,
): Promise<void> {
  return context.runExclusively(async () => {
    evaluation.scope.setScalar(variable, await interpolate(expression, evaluation));
  });
}

/** Sets a grid variable to rows, in which expressions are replaced. */
export function assignGrid(
  context: RunContext,
  variable: string,
  rows: Plain,
  evaluation: Evaluation,
): Promise<void> {
  return context.runExclusively(async () => {
    const { value } = await resolveParameters({ value: rows }, evaluation);
    evaluation.scope.setGrid(variable, value);
  });
}

/** Stricter than JavaScript, in which any other text is true, even a condition in quotes. */
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

async function queryScalars(
  { query, mapping }: Extract<Action, { action: 'query-scalars' }>,
  { run, evaluation }: ActionContext,
): Promise<ActionResult> {
  const { columns, rows } = await run.context.warehouse.query(query, 1);
  const [row] = rows;
  if (row === undefined) {
    return {
      status: 'FAILED',
      message: 'the query returned no row: use an aggregate, or coalesce, so that it always returns one',
    };
  }
  for (const [variable, column] of mapping) {
    const index = columns.findIndex((each) => each.toLowerCase() === column.toLowerCase());
    if (index < 0) {
      return {
        status: 'FAILED',
        message: `the query returned no column "${column}": use one of ${columns.join(', ')}`,
      };
    }
    evaluation.scope.setScalar(variable, row[index]);
  }
  return { ...success, rowCount: 1 };
}

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
  return { ...success, ...rowCount };
}

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

async function runCalledPipeline(
  { pipelineName, scalars, grids }: CallArguments & { pipelineName: string },
  { artifact, type }: { artifact: RunArtifact; type: PipelineType | undefined },
  { run, step, evaluation }: ActionContext,
): Promise<ActionResult> {
  const { context, chain } = run;
  const pipelineRunId = context.ports.newId();
  const scope = evaluation.scope;
  const onFound = (path: string) =>
    step.change({ childPipeline: { id: pipelineRunId, name: `${artifact.checked.prefix}${path}` } });
  const call = { name: pipelineName, type, artifact, onFound, pipelineRunId, chain, scope, scalars, grids };
  const { scope: childScope, ...outcome } = await context.call(call);
  return { ...outcome, ...(childScope === undefined ? {} : { childScope }), fromChild: true };
}
