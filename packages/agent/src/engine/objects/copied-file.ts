/**
 * Loads a file into a warehouse that reaches no files. A CSV file goes through the connection as it is; other files are
 * read by the embedded database, which writes their rows as CSV. One transaction makes the table, so that nothing half
 * loaded is ever seen.
 */
import { type Action, type CopyDialect, type FileColumn, PermanentFault } from '@headgate/pipelines';
import type { ActionResult } from '../context/action-context.ts';
import type { RunContext } from '../context/run-context.ts';
import { nameFile, type OpenedFile, requireLoadable } from '../files/files.ts';
import type { CopiedFile } from '../ports/ports.ts';
import type { Transaction } from '../session/session.ts';

type LoadAction = Extract<Action, { action: 'load-file' }>;
type Context = Pick<RunContext, 'dialect' | 'ports' | 'limit' | 'warehouse'>;

/** No file gets this name. */
const copiedName = '.copied';
const columnLimit = 10_000;
/** What COPY reads as it was written. */
const standardCsv = {
  delimiter: ',',
  quote: '"',
  escapeCharacter: '"',
  nullWord: '',
  isNullQuoted: false,
} as const;

export async function copyFile(
  action: LoadAction,
  file: OpenedFile,
  copy: CopyDialect,
  context: Context,
): Promise<ActionResult> {
  const { dialect, ports, warehouse } = context;
  await requireLoadable(action.checks, file, ports.between);
  if (action.creation === 'if-missing' && (await exists(action, context)))
    return {
      status: 'SUCCESS',
      rowCount: 0,
      message: `the table "${action.target.table}" exists: nothing was loaded`,
    };
  const columns = action.columns.length > 0 ? action.columns : await readColumns(action, file, copy, context);
  const loaded = isPlain(action, columns)
    ? { ...file, skippedLines: action.format.type === 'CSV' && action.format.header ? 1 : 0 }
    : await convert(
        { format: action.format, columns: action.format.type === 'CSV' ? action.columns : columns },
        file,
        copy,
        context,
      );
  const format = loaded.path === file.path && action.format.type === 'CSV' ? action.format : standardCsv;
  try {
    const from = { path: loaded.path, to: 'warehouse', skippedLines: loaded.skippedLines } as const;
    const copied = { ...standardCsv, delimiter: format.delimiter };
    const names = columns.map(({ name }) => name);
    const fill = (table: string, transaction: Transaction) =>
      transaction.copy(copy.copyIn(table, names, copied), {
        ...from,
        shown: copy.copyIn(table, names, copied, file.name),
      });
    return {
      status: 'SUCCESS',
      ...(await warehouse.transact((transaction) => fillTable(action, columns, dialect, transaction, fill))),
    };
  } catch (error) {
    throw nameFile(nameLine(error, loaded), file);
  } finally {
    if (loaded.path !== file.path) await ports.files.endWrite(loaded.path, false);
  }
}

async function exists({ target }: LoadAction, { dialect, warehouse }: Context): Promise<boolean> {
  return (await warehouse.query(dialect.tableExists(target), columnLimit)).rows.length > 0;
}

/** The columns of the file, with the types that the embedded database finds in it. */
async function readColumns(
  { format }: LoadAction,
  file: OpenedFile,
  copy: CopyDialect,
  { ports, limit }: Context,
): Promise<FileColumn[]> {
  const read = copy.between.readFile(file.path, format, []);
  const sql = `SELECT column_name, column_type FROM (DESCRIBE ${read})`;
  const { rows } = await ports.between.query(sql, columnLimit, undefined, limit).catch((error: unknown) => {
    throw nameFile(error, file);
  });
  return rows.map(([name, type]) => ({ name: String(name), type: copy.ownType(String(type)) }));
}

/** Dates that were found in the file may be written in a way that the warehouse reads otherwise. */
const isPlain = ({ format, columns: named }: LoadAction, columns: readonly FileColumn[]): boolean =>
  format.type === 'CSV' &&
  Buffer.byteLength(format.delimiter) === 1 &&
  (named.length > 0 || !columns.some(({ type }) => /^(?:DATE|TIME)/.test(type)));

/** Returns a file of standard CSV with the rows. */
async function convert(
  // The formats of dates are found only in columns whose types are found, too. Lists become JSON.
  { format, columns }: Pick<LoadAction, 'format' | 'columns'>,
  file: OpenedFile,
  copy: CopyDialect,
  { ports, limit }: Context,
): Promise<{ path: string; skippedLines: number }> {
  const { between, files } = ports;
  const inBetween = columns.map(({ name, type }) => ({ name, type: copy.betweenType(type) }));
  const read = copy.between.readFile(file.path, format, inBetween);
  const rowsTable = copy.between.temporaryTable(`headgate_copied_${ports.newId()}`);
  const path = await files.beginWrite(copiedName);
  try {
    await between.execute(copy.between.createTemporaryTable(rowsTable, read), undefined, limit);
    await between.execute(copy.writeCopied(rowsTable, path), undefined, limit);
    await between.execute(`DROP TABLE ${rowsTable}`, undefined, limit);
    return { path, skippedLines: 0 };
  } catch (error) {
    await files.endWrite(path, false);
    throw nameFile(error, file);
  }
}

async function fillTable(
  { target, creation }: LoadAction,
  columns: readonly FileColumn[],
  dialect: Context['dialect'],
  transaction: Transaction,
  fill: (table: string, transaction: Transaction) => Promise<{ rowCount: number }>,
): Promise<{ rowCount: number }> {
  const table = dialect.table(target);
  if (creation === 'append') return fill(table, transaction);
  // The table that is there is read until the new one is complete.
  const filled = creation === 'replace' ? { ...target, table: `headgate_new_${target.table}` } : target;
  const list = columns.map(({ name, type }) => `${dialect.name(name)} ${type}`).join(', ');
  await transaction.execute(`CREATE TABLE ${dialect.table(filled)} (${list})`);
  const result = await fill(dialect.table(filled), transaction);
  if (creation === 'replace') {
    await transaction.execute(`DROP TABLE IF EXISTS ${table}`);
    await transaction.execute(`ALTER TABLE ${dialect.table(filled)} RENAME TO ${dialect.name(target.table)}`);
  }
  return result;
}

/** `COPY orders, line 3, column amount: "x"`: the line in the file. */
export function nameLine(error: unknown, { skippedLines }: Pick<CopiedFile, 'skippedLines'>): unknown {
  if (!(error instanceof Error) || error instanceof PermanentFault) return error;
  error.message = error.message.replace(
    /\bCOPY \S{1,200}, line (\d{1,15})/,
    (_, line: string) => `line ${Number(line) + (skippedLines ?? 0)}`,
  );
  return error;
}
