/**
 * Runs one query that can change nothing. DuckDB itself enforces this: it parses the SQL and says which kind of
 * statement it is, and the transaction is READ ONLY, so that also a function with an effect is refused.
 */
import {
  type DuckDBConnection,
  type DuckDBPreparedStatement,
  type DuckDBType,
  StatementType,
} from '@duckdb/node-api';
import { createUserSql, type SqlRules } from '@headgate/pipelines/user-sql';
import { type StatementRules, toJavaScript } from './duckdb-statement.ts';
import { countRows } from './scratch/duckdb-row-counts.ts';
import { findReason, RowsLost, readChunks } from './statements/duckdb-chunks.ts';
import { checkCalls } from './statements/duckdb-functions.ts';
import { checkPlan } from './statements/duckdb-plan.ts';
import { prepareConverted } from './statements/duckdb-prepare.ts';
import { rollBack } from './statements/duckdb-rollback.ts';
import { readFirstWord, splitStatements } from './statements/sql-words.ts';
import type { ReadBounds, ReadRows } from './warehouse.ts';

const severalStatements = 'write exactly one SELECT statement';

/** @throws Error unless the SQL is one query that only reads */
export async function readOnly(
  connection: DuckDBConnection,
  written: string,
  { functions }: Pick<StatementRules, 'functions'>,
  bounds: ReadBounds,
): Promise<ReadRows> {
  const { rules } = bounds;
  const counted = rules === undefined ? written : await countRows(connection, rewrite(written, rules));
  const [sql = '', ...others] = splitStatements(counted);
  if (others.length > 0) throw new Error(severalStatements);
  checkCalls(sql, functions);
  // DuckDB creates the folder of an export when it prepares the statement, before its kind is known.
  if (readFirstWord(sql) === 'export')
    throw new Error('only SELECT can be used here, not EXPORT: nothing may be changed');
  const statements = await connection.extractStatements(sql);
  if (statements.count !== 1) throw new Error(severalStatements);
  const began = performance.now();
  return inReadOnly(connection, async () => {
    const { statement, sql: converted } = await prepareConverted(connection, sql, statements, true);
    try {
      const type = statement.statementType;
      if (type !== StatementType.SELECT)
        throw new Error(`only SELECT can be used here, not ${StatementType[type]}: nothing may be changed`);
      await checkPlan(connection, converted, type, functions);
      return await readFirstRows(statement, bounds);
    } finally {
      statement.destroySync();
    }
  }).catch(async (failure) => {
    throw failure instanceof RowsLost
      ? await inReadOnly(connection, () => findReason(connection, failure, { sql, began }))
      : failure;
  });
}

/** The query in the words of DuckDB. @throws Error unless it is one statement */
function rewrite(written: string, rules: SqlRules): string {
  const statements = createUserSql(rules).script(written);
  const [only] = statements;
  if (only === undefined || statements.length !== 1) throw new Error(severalStatements);
  // A statement without effect, or one that DuckDB has only in several parts.
  if (only.sql === '' || only.before.length + only.after.length > 0 || only.listed !== undefined)
    throw new Error(`only SELECT can be used here, not ${only.kind}: nothing may be changed`);
  return only.sql;
}

async function inReadOnly<Result>(
  connection: DuckDBConnection,
  work: () => Promise<Result>,
): Promise<Result> {
  await connection.run('begin transaction read only');
  try {
    return await work();
  } finally {
    await rollBack(connection);
  }
}

async function readFirstRows(
  statement: DuckDBPreparedStatement,
  { maxRows, maxBytes }: ReadBounds,
): Promise<ReadRows> {
  const result = await statement.stream();
  const columns = result.deduplicatedColumnNames();
  if (Buffer.byteLength(JSON.stringify(columns)) > maxBytes)
    throw new Error(
      `the result has ${columns.length} columns, more than an answer holds: name those to read`,
    );
  const types = result.columnTypes();
  const rows: ReadRows['rows'] = [];
  let size = 0;
  for await (const chunk of readChunks(result)) {
    for (const row of chunk.getRows()) {
      const values = row.map((value, column) => toJavaScript(value, types[column] as DuckDBType));
      size += Buffer.byteLength(JSON.stringify(values));
      if (rows.length === maxRows || size > maxBytes) return { columns, rows, isCut: true };
      rows.push(values);
    }
  }
  return { columns, rows, isCut: false };
}
