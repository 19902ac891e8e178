/** What an answer says of the result of a statement. */
import type { Value } from '../served/served-values.ts';
import { type RawRow, RefusedAnswer } from './snowflake-answer.ts';
import type { Answer, ResultPart } from './snowflake-calls.ts';
import { findReader, type SnowflakeColumn } from './snowflake-values.ts';

export interface StatementResult {
  columns: readonly SnowflakeColumn[];
  rows: RawRow[];
  parts: readonly ResultPart[];
  /** The rows that the statement changed or returned; undefined: the server does not say it. */
  rowCount: number | undefined;
}

/** Kinds of statements: those that change rows. */
const [firstChange, lastChange] = [0x3000, 0x3fff];
const mostColumns = 10_000;
const mostParts = 100_000;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** @throws RefusedAnswer, or Error about a statement that needs files of the agent */
export function readResult({ data, rows }: Answer): StatementResult {
  if (typeof data.command === 'string')
    throw new Error(
      'PUT and GET move files of the machine of the client, which the agent does not allow: load from a stage in an object store by COPY INTO',
    );
  if (data.queryResultFormat !== undefined && data.queryResultFormat !== 'json')
    throw new RefusedAnswer('a result that is not JSON', 'form');
  const columns = readColumns(data.rowtype);
  const misfit = rows.find((row) => row.length !== columns.length);
  if (misfit !== undefined) throw new RefusedAnswer('a row with other columns than the result', 'form');
  return { columns, rows, parts: readParts(data), rowCount: countRows(data, columns, rows) };
}

function readColumns(input: unknown): SnowflakeColumn[] {
  if (input === undefined || input === null) return [];
  if (!Array.isArray(input) || input.length > mostColumns)
    throw new RefusedAnswer('columns that are not a list', 'form');
  return input.map((column: unknown) => {
    if (!isObject(column) || typeof column.name !== 'string' || typeof column.type !== 'string')
      throw new RefusedAnswer('a column without name or type', 'form');
    const { name, type, scale } = column;
    return { name, type, scale: typeof scale === 'number' ? scale : 0 };
  });
}

function readParts({ chunks, chunkHeaders, qrmk }: Answer['data']): ResultPart[] {
  if (chunks === undefined || chunks === null) return [];
  if (!Array.isArray(chunks) || chunks.length > mostParts)
    throw new RefusedAnswer('parts that are not a list', 'form');
  const headers = readHeaders(chunkHeaders, qrmk);
  return chunks.map((chunk: unknown) => {
    const url = isObject(chunk) && typeof chunk.url === 'string' ? URL.parse(chunk.url) : null;
    if (url === null) throw new RefusedAnswer('a part without an address', 'form');
    return { url, headers };
  });
}

/** Amazon's storage encrypts the parts by a key that the answer has. */
function readHeaders(headers: unknown, key: unknown): ResultPart['headers'] {
  const found = isObject(headers)
    ? Object.entries(headers)
    : typeof key === 'string'
      ? [
          ['x-amz-server-side-encryption-customer-algorithm', 'AES256'],
          ['x-amz-server-side-encryption-customer-key', key],
        ]
      : [];
  return found.map(([name, value]) => {
    if (!/^x-[a-z0-9-]{1,200}$/i.test(String(name)) || !/^[\w+/=:. -]{1,1000}$/.test(String(value)))
      throw new RefusedAnswer('a header that is none', 'form');
    return [String(name), String(value)] as const;
  });
}

const readCount = (value: unknown): number | undefined => {
  const count = typeof value === 'number' ? value : /^\d{1,15}$/.test(String(value)) ? Number(value) : -1;
  return Number.isSafeInteger(count) && count >= 0 ? count : undefined;
};

/** What changes rows answers with one row of counts, and CREATE TABLE AS with a text. */
function countRows(
  { statementTypeId: type, total, stats }: Answer['data'],
  columns: readonly SnowflakeColumn[],
  rows: readonly RawRow[],
): number | undefined {
  if (isObject(stats)) {
    const counts = ['numRowsInserted', 'numRowsUpdated', 'numRowsDeleted'].map((each) =>
      readCount(stats[each]),
    );
    if (counts.some((count) => count !== undefined)) return sum(counts);
  }
  if (typeof type === 'number' && type >= firstChange && type <= lastChange)
    return sum(
      columns.map(({ name }, index) => (/^number of rows /i.test(name) ? readCount(rows[0]?.[index]) : 0)),
    );
  const isStatus = columns.length === 1 && columns[0]?.name === 'status';
  return isStatus ? undefined : (readCount(total) ?? rows.length);
}

const sum = (counts: readonly (number | undefined)[]) =>
  counts.reduce<number>((all, count) => all + (count ?? 0), 0);

/** A function that reads the values of a row. @throws RefusedAnswer */
export function createRowReader(columns: readonly SnowflakeColumn[]): (row: RawRow) => Value[] {
  const readers = columns.map(findReader);
  return (row) => {
    if (row.length !== readers.length)
      throw new RefusedAnswer('a row with other columns than the result', 'form');
    return row.map((cell, index) => (cell === null ? null : (readers[index]?.(cell) ?? cell)));
  };
}

/** A name that an earlier column has gets a number. */
export function listNames(columns: readonly { name: string }[]): string[] {
  const taken = new Set<string>();
  return columns.map(({ name }) => {
    let column = name;
    for (let number = 1; taken.has(column); number += 1) column = `${name}_${number}`;
    taken.add(column);
    return column;
  });
}
