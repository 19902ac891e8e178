/** Runs statements and queries on a DuckDB connection and converts values to JavaScript. */
import {
  type DuckDBConnection,
  DuckDBDecimalValue,
  type DuckDBPreparedStatement,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBType,
  type DuckDBValue,
  JsonDuckDBValueConverter,
  ResultReturnType,
  StatementType,
} from '@duckdb/node-api';
import { type BuiltInFunctions, checkCalls } from './duckdb-functions.ts';
import { checkStatementKind, parseExplain } from './duckdb-statement-kinds.ts';
import { checkTarget, writtenTargets } from './duckdb-targets.ts';

/** Bytes of text that one query may return. */
const resultLimit = 64 * 1024 * 1024;

/** What users' SQL is checked against. */
export interface StatementRules {
  functions: BuiltInFunctions;
  temporaryFolder: string;
}

/** Runs the statements in `sql` in order. Returns the rows that the last one changed, created or returned. */
export async function execute(
  connection: DuckDBConnection,
  sql: string,
  rules: StatementRules,
): Promise<{ rowCount: number }> {
  let rowCount = 0;
  await forEachStatement(connection, sql, rules, async (statement) => {
    rowCount = await runAndCount(statement);
  });
  return { rowCount };
}

/**
 * Runs one query and streams its rows, so that a large result is refused before it fills the memory.
 *
 * @throws Error if there are more than `maxRows` rows or more than 64 MiB of values.
 */
export async function query(
  connection: DuckDBConnection,
  sql: string,
  rules: StatementRules,
  maxRows: number,
): Promise<{ columns: string[]; rows: unknown[][] }> {
  let answer: { columns: string[]; rows: unknown[][] } = { columns: [], rows: [] };
  await forEachStatement(connection, sql, rules, async (statement) => {
    answer = await readRows(statement, maxRows);
  });
  return answer;
}

async function forEachStatement(
  connection: DuckDBConnection,
  sql: string,
  { functions, temporaryFolder }: StatementRules,
  run: (statement: DuckDBPreparedStatement) => Promise<void>,
): Promise<void> {
  checkCalls(sql, functions);
  const statements = await connection.extractStatements(sql);
  if (statements.count === 0) throw new Error('the SQL contains no statement: add one');
  const { copies, exports } = writtenTargets(sql);
  // DuckDB creates the folder of an export when it prepares the statement.
  for (const target of exports) await checkTarget(connection, target, temporaryFolder);
  for (let index = 0; index < statements.count; index++) {
    // Prepared one by one, since a statement may need a table that the previous one creates.
    const statement = await statements.prepare(index);
    try {
      checkStatementKind(statement.statementType);
      const target = mayCopy(statement.statementType) ? copies.shift() : undefined;
      if (target !== undefined) await checkTarget(connection, target, temporaryFolder);
      if (statement.statementType !== StatementType.EXPLAIN) await run(statement);
      else await explain(connection, statements.count === 1 ? sql : undefined, run);
    } finally {
      statement.destroySync();
    }
  }
}

/** EXPLAIN ANALYZE executes its statement. */
function mayCopy(type: StatementType): boolean {
  return type === StatementType.COPY || type === StatementType.EXPLAIN;
}

/** Runs an EXPLAIN that is rebuilt from the checked statement. */
async function explain(
  connection: DuckDBConnection,
  sql: string | undefined,
  run: (statement: DuckDBPreparedStatement) => Promise<void>,
): Promise<void> {
  const explained = sql === undefined ? undefined : parseExplain(sql);
  if (explained === undefined)
    throw new Error('EXPLAIN is not allowed with other statements: make it the only statement of the SQL');
  await checkAlone(connection, explained.statement);
  const statement = await connection.prepare(explained.prefix + explained.statement);
  try {
    await run(statement);
  } finally {
    statement.destroySync();
  }
}

/** @throws Error unless `sql` is a single statement of an allowed kind other than EXPLAIN. */
async function checkAlone(connection: DuckDBConnection, sql: string): Promise<void> {
  const statements = await connection.extractStatements(sql);
  if (statements.count !== 1)
    throw new Error('EXPLAIN needs exactly one statement: put one SELECT or other statement after it');
  const statement = await statements.prepare(0);
  try {
    if (statement.statementType === StatementType.EXPLAIN)
      throw new Error('EXPLAIN is not allowed after EXPLAIN: remove one');
    checkStatementKind(statement.statementType);
  } finally {
    statement.destroySync();
  }
}

async function runAndCount(statement: DuckDBPreparedStatement): Promise<number> {
  const result = await statement.stream();
  if (result.returnType === ResultReturnType.CHANGED_ROWS) return result.rowsChanged;
  const countsItself =
    result.returnType === ResultReturnType.NOTHING && statement.statementType === StatementType.CREATE;
  let rowCount = 0;
  for (
    let chunk = await result.fetchChunk();
    chunk && chunk.rowCount > 0;
    chunk = await result.fetchChunk()
  ) {
    // CREATE TABLE … AS returns one row with the number of created rows.
    if (countsItself) return chunk.columnCount > 0 ? Number(chunk.getColumnValues(0)[0] ?? 0) : 0;
    rowCount += chunk.rowCount;
  }
  return result.returnType === ResultReturnType.QUERY_RESULT ? rowCount : 0;
}

async function readRows(statement: DuckDBPreparedStatement, maxRows: number) {
  const result = await statement.stream();
  const columns = result.deduplicatedColumnNames();
  const types = result.columnTypes();
  const rows: unknown[][] = [];
  let size = 0;
  for (
    let chunk = await result.fetchChunk();
    chunk && chunk.rowCount > 0;
    chunk = await result.fetchChunk()
  ) {
    for (const row of chunk.getRows()) {
      if (rows.length === maxRows) {
        throw new Error(`the query returns more than ${maxRows} rows: add a filter or a LIMIT`);
      }
      const values = row.map((value, column) => toJavaScript(value, types[column] as DuckDBType));
      for (const value of values) size += typeof value === 'string' ? value.length : 8;
      if (size > resultLimit) {
        throw new Error(
          `the query returns more than ${resultLimit} bytes: select fewer columns, or add a filter or a LIMIT`,
        );
      }
      rows.push(values);
    }
  }
  return { columns, rows };
}

/**
 * An integer or decimal becomes a number if a double represents it exactly, else a text with its digits. A
 * date or time becomes an ISO 8601 text. A list, struct or map becomes JSON.
 */
export function toJavaScript(value: DuckDBValue, type: DuckDBType): string | number | boolean | null {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint') {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value.toString();
  }
  if (value instanceof DuckDBDecimalValue) {
    const text = value.toString();
    return text.replace(/\D/g, '').length <= 15 ? Number(text) : text;
  }
  if (value instanceof DuckDBTimestampTZValue && value.isFinite) {
    return new Date(Number(value.micros / 1000n)).toISOString();
  }
  if (value instanceof DuckDBTimestampValue) return value.toString().replace(' ', 'T');
  const json = JsonDuckDBValueConverter(value, type, JsonDuckDBValueConverter);
  return typeof json === 'object' && json !== null ? JSON.stringify(json) : String(json);
}
