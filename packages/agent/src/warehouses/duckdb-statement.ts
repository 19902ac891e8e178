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
import type { KnownCatalog } from './duckdb-known-catalog.ts';
import { bindTarget } from './duckdb-targets.ts';
import { countRows } from './scratch/duckdb-row-counts.ts';
import type { Scratch } from './scratch/duckdb-scratch.ts';
import { redirectCatalog } from './scratch/duckdb-scratch-catalog.ts';
import { runInScratch } from './scratch/duckdb-scratch-guard.ts';
import { findReason, readChunks } from './statements/duckdb-chunks.ts';
import {
  type BuiltInFunctions,
  checkCalls,
  checkCreated,
  refuseNamesOfFunctions,
} from './statements/duckdb-functions.ts';
import { checkPlan } from './statements/duckdb-plan.ts';
import { prepareConverted } from './statements/duckdb-prepare.ts';
import { checkStatementKind, parseExplain } from './statements/duckdb-statement-kinds.ts';
import { namesVariants } from './statements/duckdb-variants.ts';
import { hasName, splitStatements } from './statements/sql-words.ts';

/** Bytes of text that one query may return. */
const resultLimit = 64 * 1024 * 1024;

/** What users' SQL is checked against. */
export interface StatementRules {
  functions: BuiltInFunctions;
  /** The base of relative paths, and the only folder to which SQL may write. */
  filesFolder: string;
  catalog: KnownCatalog;
  /** Of a test: where all of its writes land. */
  scratch?: Scratch;
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
  rules: StatementRules,
  run: (statement: DuckDBPreparedStatement) => Promise<void>,
): Promise<void> {
  const parts = splitStatements(sql);
  if (parts.length === 0) throw new Error('the SQL contains no statement: add one');
  // Each is checked and executed by itself, so that exactly the checked text is executed.
  const { scratch } = rules;
  for (const part of parts) checkCalls(part, rules.functions);
  for (const written of parts) {
    const part = await countRows(connection, written, rules.scratch);
    const isAlone = parts.length === 1;
    if (scratch === undefined) await runStatement(connection, part, rules, run, isAlone);
    else {
      const sql = redirectCatalog(part, scratch.name);
      await runInScratch(connection, scratch, sql, () => runStatement(connection, sql, rules, run, isAlone));
    }
  }
}

async function runStatement(
  connection: DuckDBConnection,
  written: string,
  rules: StatementRules,
  run: (statement: DuckDBPreparedStatement) => Promise<void>,
  isAlone: boolean,
): Promise<void> {
  const { functions, catalog } = rules;
  const bound = await bindTarget(connection, written, rules);
  // DuckDB creates the folder of an export when it prepares the statement.
  const statements = await connection.extractStatements(bound);
  // DuckDB makes a PIVOT of several statements.
  if (statements.count !== 1 && !hasName(bound, pivoting))
    throw new Error('the SQL cannot be divided into statements: write one statement for each component');
  if (statements.count !== 1) refuseNamesOfFunctions(bound, functions);
  for (let index = 0; index < statements.count; index++) {
    const { statement, sql } =
      statements.count === 1
        ? await prepareConverted(
            connection,
            bound,
            statements,
            await mayUseVariants(connection, bound, rules),
          )
        : { statement: await statements.prepare(index), sql: bound };
    const type = statement.statementType;
    try {
      checkStatementKind(type);
      await catalog.run(statements.count === 1 ? type : undefined, async () => {
        if (type === StatementType.EXPLAIN) return explain(connection, isAlone ? sql : undefined, rules, run);
        if (statements.count === 1 && !(await isHarmless(connection, sql, type, rules)))
          await checkPlan(connection, sql, type, functions);
        const began = performance.now();
        const query = statements.count === 1 && type === StatementType.SELECT ? { sql, began } : undefined;
        await run(statement).catch(async (failure) => {
          throw await findReason(connection, failure, query);
        });
        if (type === StatementType.CREATE) await checkCreated(connection, sql, functions);
      });
    } finally {
      statement.destroySync();
    }
  }
}

/** Literals in VALUES are no VARIANTs. A scratch database changes with its statements. */
async function mayUseVariants(
  connection: DuckDBConnection,
  sql: string,
  { catalog, scratch }: StatementRules,
): Promise<boolean> {
  if (namesVariants(sql)) return true;
  // not SQL: whether the letters are anywhere, also in a text
  if (!/select|from|set|merge/i.test(sql)) return false;
  return scratch !== undefined || (await catalog.mayHoldVariants(connection));
}

const pivoting = new Set(['pivot', 'pivot_wider', 'pivot_longer']);

/** A scratch database changes with its statements. */
async function isHarmless(
  connection: DuckDBConnection,
  sql: string,
  type: StatementType,
  { catalog, scratch }: StatementRules,
): Promise<boolean> {
  return scratch === undefined && catalog.isHarmless(connection, sql, type);
}

/** Runs an EXPLAIN that is rebuilt from the checked statement. */
async function explain(
  connection: DuckDBConnection,
  sql: string | undefined,
  rules: StatementRules,
  run: (statement: DuckDBPreparedStatement) => Promise<void>,
): Promise<void> {
  const explained = sql === undefined ? undefined : parseExplain(sql);
  if (explained === undefined)
    throw new Error('EXPLAIN is not allowed with other statements: make it the only statement of the SQL');
  const checked = await bindTarget(connection, explained.statement, rules);
  await checkExplained(connection, checked, rules);
  const statement = await connection.prepare(explained.prefix + checked);
  try {
    await run(statement);
    // EXPLAIN ANALYZE executes its statement.
    await checkCreated(connection, checked, rules.functions);
  } finally {
    statement.destroySync();
  }
}

/** @throws Error unless it is a single allowed statement other than EXPLAIN. */
async function checkExplained(
  connection: DuckDBConnection,
  sql: string,
  rules: StatementRules,
): Promise<void> {
  const statements = await connection.extractStatements(sql);
  if (statements.count !== 1)
    throw new Error('EXPLAIN needs exactly one statement: put one SELECT or other statement after it');
  const statement = await statements.prepare(0);
  const type = statement.statementType;
  statement.destroySync();
  if (type === StatementType.EXPLAIN) throw new Error('EXPLAIN is not allowed after EXPLAIN: remove one');
  // EXPLAIN ANALYZE would do it, without the care that these get when they stand alone.
  if (type === StatementType.TRANSACTION || type === StatementType.SET)
    throw new Error('EXPLAIN needs a SELECT or another statement that reads or writes data: remove EXPLAIN');
  checkStatementKind(type);
  await checkPlan(connection, sql, type, rules.functions);
}

async function runAndCount(statement: DuckDBPreparedStatement): Promise<number> {
  const result = await statement.stream();
  if (result.returnType === ResultReturnType.CHANGED_ROWS) return result.rowsChanged;
  const countsItself =
    result.returnType === ResultReturnType.NOTHING && statement.statementType === StatementType.CREATE;
  let rowCount = 0;
  for await (const chunk of readChunks(result)) {
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
  for await (const chunk of readChunks(result)) {
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
