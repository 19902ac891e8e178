/** Runs SQL statements, of a component or in a file of the artifact. */
import { type Action, interpolate, type PlannedScript } from '@headgate/pipelines';
import type { ActionContext, ActionResult } from '../context/action-context.ts';

export async function execute(
  { statements, notes = [] }: PlannedScript,
  { run }: ActionContext,
): Promise<ActionResult> {
  const { rowCount } = await run.context.warehouse.executeScript(statements);
  const message = [...new Set(notes)].join('\n');
  return { status: 'SUCCESS', rowCount, ...(message === '' ? {} : { message }) };
}

export async function executeFile(
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
