/**
 * Fills an external table with the rows of its files. The agent fetches all of them; then one transaction replaces the
 * rows, so that readers see all files as they were at one time, or those of before.
 */
import {
  type Action,
  cellLimit,
  type Dialect,
  datasetNames,
  type ExternalTable,
  fillExternalTable,
  nameCells,
  nameObject,
  nameStoreInLineage,
  PermanentFault,
  planFileLoad,
} from '@headgate/pipelines';
import type { ActionContext, ActionResult } from '../context/action-context.ts';
import type { Session, Transaction } from '../session/session.ts';
import { fetchAll, type LocatedLoad } from './object-fetch.ts';
import { describeFile, repeatConflicts, selectMatching } from './object-load.ts';
import { explainFailure, FailedFile, type LoadedFile } from './row-faults.ts';
import { locate } from './stage-place.ts';

type FillAction = Extract<Action, { action: 'fill-external-table' }>;

export async function fillExternal(
  { table, unless, before }: FillAction,
  context: ActionContext,
): Promise<ActionResult> {
  const { run, step } = context;
  const { ports, warehouse, limit } = run.context;
  if (unless !== undefined && (await warehouse.query(unless, 1)).rows.length > 0)
    return { status: 'SUCCESS', rowCount: 0, message: 'the table exists and stays as it is' };
  const external = await findTable(table, warehouse);
  const { load, reading } = external;
  const { pattern } = external.source;
  const source = { place: await locate(external.source.place, warehouse), pattern };
  const { store } = source.place;
  const listed = await ports.stores.list(source.place, limit);
  const matching = await selectMatching(listed, source);
  const located: LocatedLoad = { action: 'load-objects', source, reading, load, role: undefined, notes: [] };
  const files: LoadedFile[] = [];
  try {
    await fetchAll(matching, located, files, context);
    for (const file of files)
      step.nameFile(file.name, {
        kind: 'object',
        name: datasetNames.object(nameStoreInLineage(store), file.object.key),
      });
    const rowCount = await replaceRows(external, before, files, context);
    const objects = `${matching.length} ${matching.length === 1 ? 'object' : 'objects'}`;
    const none = `no object that begins with ${nameObject(source.place)}${pattern === '' ? '' : ` and matches ${pattern}`}: the table is empty`;
    return {
      status: 'SUCCESS',
      rowCount,
      byteCount: matching.reduce((sum, { size }) => sum + size, 0),
      message:
        matching.length === 0 ? none : `${rowCount} ${rowCount === 1 ? 'row' : 'rows'} from ${objects}`,
    };
  } finally {
    for (const { path } of files) await ports.files.endWrite(path, false).catch(() => undefined);
  }
}

/** @throws PermanentFault if there is no such table */
async function findTable(
  table: FillAction['table'],
  { query }: Pick<Transaction, 'query'>,
): Promise<ExternalTable> {
  if (!('exists' in table)) return table;
  const tables = await query(table.exists, 1);
  const [row] = tables.rows.length === 0 ? [] : (await query(table.query, 1)).rows;
  if (row !== undefined) return table.read(row);
  throw new PermanentFault(
    `"${table.name}" is not an external table: make it by create-external-table, or load the files with s3-load`,
  );
}

/** Returns the number of rows. */
async function replaceRows(
  external: ExternalTable,
  before: readonly string[],
  files: readonly LoadedFile[],
  { run, step }: ActionContext,
): Promise<number> {
  const { dialect } = run.context;
  let current: LoadedFile | undefined;
  // The step shows no folder of this machine.
  const warehouse = run.context.warehouse.watch((sql) => {
    if (current === undefined) return step.noteStatement(sql);
    return step.noteStatement(sql.replaceAll(dialect.quotePath(current.path), dialect.literal(current.name)));
  });
  const sizes = new Map<LoadedFile, number>();
  try {
    for (const file of files)
      sizes.set(file, await countCells(external, file, run.context.warehouse, dialect));
    return await repeatConflicts(
      () =>
        warehouse.transact(async (transaction) => {
          let rows = 0;
          for (const statement of before) await transaction.execute(statement);
          for (const file of files) {
            if (file.bytes === 0) continue;
            current = file;
            const sized = { ...external, load: describeFile(external.load, file) };
            const statement = fillExternalTable(sized, file.path, sizes.get(file) ?? 0, dialect);
            try {
              rows += (await transaction.execute(statement)).rowCount;
            } catch (error) {
              throw new FailedFile(file, error);
            }
            current = undefined;
          }
          return rows;
        }),
      run.context,
    );
  } catch (error) {
    if (!(error instanceof FailedFile)) throw error;
    const load = describeFile(external.load, error.file);
    const columns =
      load.format.type === 'CSV' ? nameCells(sizes.get(error.file) ?? 1) : [{ name: 'VALUE', type: 'JSON' }];
    const plan = planFileLoad(load, columns, [], dialect);
    throw await explainFailure(
      error,
      load,
      plan,
      run.context.warehouse,
      'the table was not changed: correct the object',
    );
  } finally {
    current = undefined;
  }
}

/** The values of the rows of a CSV file. @throws PermanentFault */
async function countCells(
  { load: { format } }: ExternalTable,
  { path, name, bytes }: LoadedFile,
  { query }: Pick<Session, 'query'>,
  dialect: Dialect,
): Promise<number> {
  if (format.type !== 'CSV' || bytes === 0) return 0;
  const { columns } = await query(dialect.readFirstLine(path, format.delimiter), 1);
  if (columns.length <= cellLimit) return columns.length;
  throw new PermanentFault(
    `"${name}" has ${columns.length} values in a row, and the limit is ${cellLimit}: load it with s3-load into a table with its columns`,
  );
}
