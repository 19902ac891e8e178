/** Runs the SQL statements in a file of the artifact. */
import { type Action, interpolate } from '@headgate/pipelines';
import type { ActionContext, ActionResult } from './action-context.ts';

export async function executeFile(
  { path, resolve, plan }: Extract<Action, { action: 'execute-file' }>,
  { run, evaluation }: ActionContext,
): Promise<ActionResult> {
  const text = await run.artifact.files.read(path);
  if (text === undefined)
    return {
      status: 'FAILED',
      message: `${run.artifact.title} has no file "${path}": publish it with the pipelines or correct the name`,
    };
  try {
    const script = resolve ? String((await interpolate(text, evaluation)) ?? '') : text;
    const { statements, notes = [] } = plan(script);
    const { rowCount } = await run.context.warehouse.executeScript(statements);
    const message = [...new Set(notes)].join('\n');
    return { status: 'SUCCESS', rowCount, ...(message === '' ? {} : { message }) };
  } catch (error) {
    throw new Error(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
