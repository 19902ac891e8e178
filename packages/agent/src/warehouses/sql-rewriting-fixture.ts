/** Test fixture: scripts of users in a real DuckDB, through the rewriter and the checks of the warehouse. */

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
