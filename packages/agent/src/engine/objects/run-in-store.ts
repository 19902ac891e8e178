/** Loads and unloads of objects by a warehouse that reaches the store itself. */
import { type Action, credentialsMark, PermanentFault, snowflakeCredentialsMark } from '@headgate/pipelines';
import type { ActionContext, ActionResult } from '../context/action-context.ts';
import type { Transaction } from '../session/session.ts';

type StoreAction = Extract<Action, { action: 'run-in-store' }>;

const marks = [credentialsMark, snowflakeCredentialsMark];

const namedFaults = 1_000;
const shownFaults = 5;

export async function runInStore(
  { store, sql, isWhole, counted, faults: faultQuery, failure, notes }: StoreAction,
  { run, step }: ActionContext,
): Promise<ActionResult> {
  const { ports } = run.context;
  step.noteEffect();
  const warehouse = run.context.warehouse.watch((statement) =>
    step.noteStatement(marks.reduce((text, mark) => text.replaceAll(mark, '(credentials)'), statement)),
  );
  const work = async (transaction: Transaction) => {
    if (store !== undefined && marks.some((mark) => sql.includes(mark)))
      await transaction.executeInStore(sql, store);
    else await transaction.execute(sql);
    const { rows } = await transaction.query(counted, 1);
    const faults = faultQuery === undefined ? [] : (await transaction.query(faultQuery, namedFaults)).rows;
    const [rowCount = 0, faultCount = faults.length] = rows[0] ?? [];
    return { rowCount: Number(rowCount), faultCount: Number(faultCount), faults: faults.map(describeFault) };
  };
  try {
    const { rowCount, faultCount, faults } = await (isWhole === true
      ? warehouse.takeTurn(work)
      : warehouse.transact(work));
    for (const line of faults) ports.log(line, { step: step.current().stepId, stream: 'component' });
    const said = [
      `${rowCount} ${rowCount === 1 ? 'row' : 'rows'}`,
      ...(faults.length === 0 ? [] : [countFaults(faultCount), ...faults.slice(0, shownFaults)]),
      ...notes,
    ];
    return { status: 'SUCCESS', rowCount, message: said.join('\n') };
  } catch (error) {
    throw failure === undefined ? error : await explain(error, failure, run.context.warehouse);
  }
}

/** The warehouse was asked for so many at most. */
const countFaults = (count: number) =>
  count === 1 ? '1 fault:' : `${count === namedFaults ? `${count} or more` : count} faults:`;

function describeFault([file, line, column, value, reason]: readonly unknown[]): string {
  const text = value === null || value === '' ? '' : `: ${JSON.stringify(value)}`;
  const place = column === null || column === '' ? '' : `, column "${column}"`;
  return `${file}, line ${line}${place}${text} (${reason})`;
}

/** What the warehouse says of the load is in one of its tables. */
async function explain(
  error: unknown,
  failure: string,
  warehouse: ActionContext['run']['context']['warehouse'],
): Promise<unknown> {
  const message = error instanceof Error ? error.message : String(error);
  if (!/stl_load_errors|sys_load_error_detail/i.test(message)) return error;
  const found = await warehouse.query(failure, namedFaults).catch(() => undefined);
  const [first] = found?.rows ?? [];
  if (first === undefined) return error;
  return new PermanentFault(
    `${describeFault(first)}; nothing was loaded: correct the object, or set "onError" to Continue`,
  );
}
