/** One run of a pipeline in a DuckDB of its own, with the engine of the agent. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { ProjectVariable, Step } from '@headgate/contract';
import { createUserSql } from '@headgate/pipelines/user-sql';
import { createFixture } from '../../packages/agent/src/engine/run/engine-fixture.ts';
import type { RunScript } from '../../packages/agent/src/scripts/script-job.ts';
import { behaviour } from '../../packages/agent/src/warehouses/duckdb-confinement.ts';
import { createCatalogWatch } from '../../packages/agent/src/warehouses/duckdb-known-catalog.ts';
import { execute, query } from '../../packages/agent/src/warehouses/duckdb-statement.ts';
import { readBuiltInFunctions } from '../../packages/agent/src/warehouses/statements/duckdb-functions.ts';
import { createStores, type TableColumns } from './objects.ts';
import type { Supplies } from './supplies.ts';
import { quoteName, renderStages, renderSupplies } from './supply.ts';

export interface AttemptInput {
  readonly folder: string;
  readonly files: readonly string[];
  readonly name: string;
  readonly supplies: Supplies;
  readonly seed: number;
  readonly runScript: RunScript;
}

export interface Attempt {
  readonly status: string;
  readonly message?: string;
  /** Of the step that failed first. */
  readonly componentType?: string;
  readonly component?: string;
  /** Whether all tables that the pipeline wrote are empty or have only NULLs, or it read no row. */
  readonly isEmpty: boolean;
  readonly steps: readonly Step[];
  readonly log: readonly string[];
  /** Tables and views after the run, with their first rows. */
  readonly tables: Readonly<Record<string, unknown[][]>>;
}

/** Each endpoint answers one page with the same rows. */
const openEndpoint = () => async () => ({
  fetch: async () => ({
    url: 'https://api.example.com/rows',
    status: 200,
    contentType: 'application/json',
    text: JSON.stringify({ items: [1, 2, 3].map((id) => ({ id, name: `name ${id}`, amount: id * 1.5 })) }),
  }),
  close: async () => undefined,
});
const catalog = 'headgate_corpus';
const noDownloads = async () => {
  throw new Error('the corpus downloads nothing');
};

export async function attempt(input: AttemptInput): Promise<Attempt> {
  const instance = await DuckDBInstance.create(':memory:', { ...behaviour, threads: '1' });
  const connection = await instance.connect();
  // Some pipelines have schemas of the name that DuckDB gives to a database in memory.
  await connection.run(`ATTACH ':memory:' AS ${catalog}; USE ${catalog}`);
  const functions = await readBuiltInFunctions(connection);
  const rules = { functions, filesFolder: '/nowhere', catalog: createCatalogWatch(functions)() };
  for (const sql of renderSupplies(input.supplies, input.seed)) await connection.run(sql);
  for (const sql of renderStages(input.supplies))
    for (const { before, sql: insert } of createUserSql({}).script(sql))
      for (const each of [...before, insert]) await connection.run(each);
  const known = new Map<string, TableColumns>();
  const warehouse = {
    execute: (sql: string) => execute(connection, sql, rules),
    async query(sql: string, maxRows: number) {
      const result = await query(connection, sql, rules, maxRows);
      if (sql.includes('information_schema.columns'))
        for (const table of [
          /lower\(table_name\) = lower\('(.+?)'\)/.exec(sql)?.[1]?.toLowerCase() ?? '',
          '',
        ])
          known.set(
            table,
            result.rows.map(([name, type]) => [String(name), String(type)] as const),
          );
      return result;
    },
  };
  const stores = createStores(input.supplies, input.seed, known);
  const fixture = await createFixture(input.runScript, openEndpoint, noDownloads, warehouse, stores);
  try {
    const texts = input.files.map((path) => [path, readFileSync(join(input.folder, path), 'utf8')]);
    const moved = [...input.supplies.moved].map(([name, path]) => [name, readFileSync(path, 'utf8')]);
    const published = [...texts, ...moved, ...input.supplies.profiles];
    await fixture.publish(Object.fromEntries(published));
    for (const secret of input.supplies.secrets) fixture.secrets.set(secret, 'secret-value');
    const outcome = await fixture.run(input.name, {
      variables: [...input.supplies.variables].map(
        ([name, value]): ProjectVariable => ({ name, type: 'TEXT', behaviour: 'SHARED', value }),
      ),
      sql: { ignoresAccess: true, catalog },
      scalarVariables: input.supplies.inputs?.scalars ?? {},
      gridVariables: input.supplies.inputs?.grids ?? {},
    });
    const steps = [...fixture.steps.values()];
    const failed = steps.find(
      ({ status, childPipeline }) => status === 'FAILED' && childPipeline === undefined,
    );
    const tables = await readTables(input.supplies);
    return {
      status: outcome.status,
      ...(outcome.message === undefined ? {} : { message: outcome.message }),
      ...(failed === undefined ? {} : { componentType: failed.componentType, component: failed.name }),
      isEmpty: isEmpty(tables, input.supplies, steps),
      steps,
      log: fixture.lines.slice(0, 50),
      tables,
    };
  } finally {
    fixture.dispose();
    connection.closeSync();
    instance.closeSync();
  }

  /** What the pipeline made. */
  async function readTables({ tables }: Supplies): Promise<Record<string, unknown[][]>> {
    const known = new Set([...tables.keys()].map((place) => place.toLowerCase()));
    const reader = await connection.runAndReadAll(
      `select schema_name, table_name from duckdb_tables() where not internal
       union all select schema_name, view_name from duckdb_views() where not internal order by all`,
    );
    const read: Record<string, unknown[][]> = {};
    for (const [schema, table] of reader.getRows()) {
      const place = `${quoteName(String(schema))}.${quoteName(String(table))}`;
      const isSupplied = known.has(place.toLowerCase()) || known.has(quoteName(String(table)).toLowerCase());
      try {
        const rows = await connection.runAndReadAll(`select * from ${place} limit 5`);
        const columns = rows.columnNames();
        read[`${isSupplied ? 'supplied ' : ''}${place}`] = [columns, ...rows.getRowsJson()];
      } catch (error) {
        read[place] = [[`cannot be read: ${(error as Error).message.split('\n')[0]}`]];
      }
    }
    return read;
  }
}

const flow = new Set(['start', 'end-success', 'end-failure', 'and', 'or', 'if']);

function isEmpty(
  tables: Readonly<Record<string, unknown[][]>>,
  supplies: Supplies,
  steps: readonly Step[],
): boolean {
  if (steps.every(({ componentType }) => flow.has(componentType))) return true;
  const made = Object.entries(tables).filter(([place]) => !place.startsWith('supplied '));
  if (made.length > 0) return made.every(([, [, ...rows]]) => rows.flat().every((value) => value === null));
  return supplies.tables.size > 0 && steps.every(({ rowCount = 0 }) => rowCount === 0);
}
