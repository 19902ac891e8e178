/**
 * Loads a file of an object into a warehouse that reaches no files. What is plain CSV goes through the connection as it
 * is. Else the embedded database reads the file, does with its faults what the component says, and writes the rows that
 * are loaded as CSV.
 */
import {
  type CopiedCsv,
  type CopyDialect,
  type ObjectLoad,
  PermanentFault,
  planFileLoad,
  type TargetColumn,
} from '@headgate/pipelines';
import type { RunContext } from '../context/run-context.ts';
import type { Transaction } from '../session/session.ts';
import type { LoadOutcome } from './load-report.ts';
import { explainFailure, FailedFile, type LoadedFile } from './row-faults.ts';
import { listMembers } from './target-table.ts';
import { loadTolerantly } from './tolerant-load.ts';

type Context = Pick<RunContext, 'dialect' | 'ports' | 'limit'>;

/** A file that the warehouse can read. `outcome`: its faults, and whether it is skipped because of them. */
export interface PreparedFile {
  file: LoadedFile;
  path: string;
  format: CopiedCsv;
  columns: readonly string[];
  skippedLines: number;
  outcome: LoadOutcome;
}

/** No file gets this name. */
const copiedName = '.copied';

const standardCsv: CopiedCsv = {
  delimiter: ',',
  quote: '"',
  escapeCharacter: '"',
  nullWord: '',
  isNullQuoted: false,
};

/** @throws PermanentFault about a fault that ends the load */
export async function prepareFile(
  file: LoadedFile,
  load: ObjectLoad,
  columns: readonly TargetColumn[],
  copy: CopyDialect,
  context: Context,
): Promise<PreparedFile> {
  const outcome: LoadOutcome = { rows: 0, faults: [], faultCount: 0, skipped: new Map() };
  const filled = load.metadata.map(({ column }) => findColumn(column, columns)?.name ?? column);
  const others = columns.map(({ name }) => name).filter((name) => !filled.includes(name));
  const names = [
    ...(load.columns.length > 0 ? load.columns : others).map(
      (name) => findColumn(name, columns)?.name ?? name,
    ),
    ...filled,
  ];
  const plain = readPlainFormat(load);
  if (plain !== undefined)
    return {
      ...{ file, path: file.path, format: plain, columns: names, outcome },
      skippedLines: load.format.type === 'CSV' ? load.format.skippedLines : 0,
    };
  const path = await convert(file, { ...load, columns: [] }, names, columns, copy, { context, outcome });
  return { file, path, format: standardCsv, columns: names, skippedLines: 0, outcome };
}

const findColumn = (name: string, columns: readonly TargetColumn[]) =>
  columns.find((column) => column.name === name) ??
  columns.find((column) => column.name.toLowerCase() === name.toLowerCase());

/** Undefined if COPY does not do what the component says. */
export function readPlainFormat({ format, onError, metadata }: ObjectLoad): CopiedCsv | undefined {
  if (format.type !== 'CSV' || onError.how !== 'abort' || metadata.length > 0) return undefined;
  const { delimiter, quote, escapeCharacter, nullWords, emptyIsNull } = format;
  const words = [...new Set([...nullWords, ...(emptyIsNull ? [''] : [])])];
  const isOther =
    format.trims ||
    format.cutsTexts ||
    format.skipsBlankLines ||
    !format.countsCells ||
    [format.dateFormat, format.timeFormat, format.timestampFormat].some((each) => each !== undefined);
  // Without quotes, nothing may be enclosed: no text has the character.
  const enclosing = quote === '' ? '\u0001' : quote;
  const escaping = escapeCharacter === '' ? enclosing : escapeCharacter;
  const [word] = words;
  const isLong = Buffer.byteLength(delimiter) !== 1 || words.length > 1;
  if (isOther || isLong || (quote === '' && escapeCharacter !== '')) return undefined;
  if (word !== undefined && /[\r\n]/.test(word)) return undefined;
  return {
    ...{ delimiter, quote: enclosing, escapeCharacter: escaping, nullWord: word },
    // A word means NULL in quotes, too; an empty value does not.
    isNullQuoted: word !== undefined && word !== '',
  };
}

interface Converting {
  context: Context;
  outcome: LoadOutcome;
}

/** Returns a file of standard CSV with the rows that are loaded. It is empty if the file is skipped. */
async function convert(
  file: LoadedFile,
  load: ObjectLoad,
  names: readonly string[],
  columns: readonly TargetColumn[],
  copy: CopyDialect,
  { context: { ports, limit }, outcome }: Converting,
): Promise<string> {
  const { between: dialect } = copy;
  const table = `headgate_copied_${ports.newId()}`;
  const rows = dialect.temporaryTable(table);
  const chosen = names.map((name) => {
    const column = findColumn(name, columns);
    if (column === undefined)
      throw new PermanentFault(`"loadColumns" has "${name}", which is not a column of the table`);
    return { ...column, type: copy.betweenType(column.type) };
  });
  const transaction: Pick<Transaction, 'execute' | 'query'> = {
    execute: (sql) => ports.between.execute(sql, undefined, limit),
    query: (sql, maxRows) => ports.between.query(sql, maxRows, undefined, limit),
  };
  const list = chosen.map(({ name, type }) => `${dialect.name(name)} ${type}`).join(', ');
  await transaction.execute(`CREATE TEMPORARY TABLE ${rows} (${list})`);
  const inBetween: ObjectLoad = { ...load, target: { database: 'temp', schema: 'main', table } };
  const path = await ports.files.beginWrite(copiedName);
  try {
    const members = await listMembers(file.path, load, transaction, dialect);
    const plan = planFileLoad(inBetween, chosen, members, { ...dialect, table: () => rows });
    try {
      await loadTolerantly(file, plan, { load: inBetween, outcome, dialect, transaction });
    } catch (error) {
      throw error instanceof PermanentFault
        ? error
        : await explainFailure(new FailedFile(file, error), inBetween, plan, transaction);
    }
    await transaction.execute(copy.writeCopied(rows, path));
    return path;
  } catch (error) {
    await ports.files.endWrite(path, false);
    throw error;
  } finally {
    await transaction.execute(`DROP TABLE ${rows}`).catch(() => undefined);
  }
}

/** The same failure with the line, the column and the value in the object. */
export function explainCopy({ file, skippedLines }: PreparedFile, error: unknown): unknown {
  const message = error instanceof Error ? error.message : String(error);
  const [, line, column, value] =
    /\bCOPY \S{1,200}, line (\d{1,15})(?:, column ([^:\n]{1,200}): "([^\n]{0,300}))?/.exec(message) ?? [];
  if (line === undefined) return error;
  const at = `${file.name}, line ${Number(line) + skippedLines}`;
  const remedy = 'nothing was loaded: correct the object, or set "onError" to Continue or Skip File';
  const [why = ''] = message.split('\n', 1);
  const what =
    column === undefined
      ? why
      : `"${value?.replace(/"$/, '').slice(0, 200)}" does not fit the column "${column}" (${why})`;
  return new PermanentFault(`${at}: ${what}; ${remedy}`);
}
