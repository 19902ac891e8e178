/** Test fixture: scripts of users in a real DuckDB, through the rewriter and the checks of the warehouse. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { type SqlRules, sqlRewriter } from '@headgate/pipelines';
import type { Warehouse } from '../engine/ports/ports.ts';
import { createSession } from '../engine/session/session.ts';
import { behaviour } from './duckdb-confinement.ts';
import { createCatalogWatch } from './duckdb-known-catalog.ts';
import { execute, query } from './duckdb-statement.ts';
import { readBuiltInFunctions } from './statements/duckdb-functions.ts';

export interface SqlFixture {
  /** Runs a script. Returns the rows of its last statement. */
  rows(script: string): Promise<unknown[][]>;
  /** Runs a script. Returns what has no effect here. */
  notes(script: string): Promise<string[]>;
  close(): void;
}

type SqlCases = readonly (readonly [script: string, rows: unknown[][]])[];

/** Registers the hooks of a file of tests. `check` makes a test of each script. */
export function createSqlSuite(): {
  /** Runs a script. Returns the rows of its last statement. */
  rows(script: string): Promise<unknown[][]>;
  /** @param cases each script and the rows of its last statement, as the vendors' documentation has them */
  check(name: string, cases: SqlCases): void;
} {
  let sql: SqlFixture;
  before(async () => {
    sql = await createSqlFixture();
  });
  after(() => sql.close());
  return {
    rows: (script) => sql.rows(script),
    check(name, cases) {
      describe(name, () => {
        for (const [script, rows] of cases)
          it(script.slice(0, 160), async () => assert.deepEqual(await sql.rows(script), rows));
      });
    },
  };
}

export async function createSqlFixture(sqlRules: SqlRules = {}): Promise<SqlFixture> {
  const instance = await DuckDBInstance.create(':memory:', behaviour);
  const connection = await instance.connect();
  const functions = await readBuiltInFunctions(connection);
  const rules = { functions, filesFolder: '/nowhere', catalog: createCatalogWatch(functions)() };
  const warehouse: Warehouse = {
    execute: (sql) => execute(connection, sql, rules),
    query: (sql, maxRows) => query(connection, sql, rules, maxRows),
  };
  const session = createSession(warehouse, 1);
  async function run(script: string) {
    const statements = sqlRewriter.rewriteScript(script, sqlRules).filter(({ sql }) => sql !== '');
    const last = statements.at(-1);
    const isQuery = last !== undefined && ['SELECT', 'FROM', 'DESCRIBE', 'PIVOT'].includes(last.kind);
    await session.executeScript(isQuery ? statements.slice(0, -1) : statements);
    return isQuery ? (await session.query(last.sql, 1_000)).rows : [];
  }
  return {
    rows: run,
    async notes(script) {
      await run(script);
      return sqlRewriter.rewriteScript(script, sqlRules).flatMap(({ notes }) => [...notes]);
    },
    close: () => closeAll(connection, instance),
  };
}

function closeAll(connection: DuckDBConnection, instance: DuckDBInstance): void {
  connection.closeSync();
  instance.closeSync();
}
