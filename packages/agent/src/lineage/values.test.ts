/**
 * Lineage checked against values, in a real DuckDB: the values of one input column are changed, and the transformation
 * runs again. Each output column whose values differ must have that column among its inputs, or among what decides
 * its rows; and each input must change its column at least once.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { roundsOr } from '@headgate/contract/testing/rounds';
import { analyzeStep, createRunTables, type FieldType, loadSqlParser } from '@headgate/pipelines/lineage';
import { createFlow, type Flow } from '../engine/run/flow-fixture.ts';
import { transformations } from './values-fixture.ts';
import { outputs } from './values-outputs-fixture.ts';
import { createRandom, type Random } from './values-random-fixture.ts';
import { type Components, tables } from './values-tables-fixture.ts';

/** With other values some input may change nothing. */
const seed = 4;
/** Of each column that is changed, and at most as long as a change that has to show has not. */
const rounds = roundsOr(3);
const mostRounds = Math.max(rounds, 20);
const rowCount = 14;
const parse = await loadSqlParser();

let flow: Flow;
before(async () => {
  flow = await createFlow();
});
after(() => flow.dispose());

type Data = Record<string, unknown[][]>;

function makeData(random: Random): Data {
  const data: Data = {};
  for (const [table, columns] of Object.entries(tables))
    data[table] = Array.from({ length: rowCount }, () =>
      Object.values(columns).map(([, make]) => make(random)),
    );
  return data;
}

const literal = (value: unknown) => (value === null ? 'NULL' : `'${String(value).replaceAll("'", "''")}'`);

async function load(table: string, rows: readonly unknown[][]): Promise<void> {
  const columns = Object.entries(tables[table] ?? {}).map(([name, [type]]) => `"${name}" ${type}`);
  const values = rows.map((row) => `(${row.map(literal).join(', ')})`);
  await flow.sql(
    `create or replace table ${table} (${columns.join(', ')})`,
    `insert into ${table} values ${values.join(', ')}`,
  );
}

/** The values of each column of a table, sorted. */
async function readColumns(table: string, names: readonly string[]): Promise<Map<string, string>> {
  const rows = await flow.fixture.rows(`select * from ${table}`);
  return new Map(
    names.map((name, index) => [name, JSON.stringify(rows.map((row) => JSON.stringify(row[index])).sort())]),
  );
}

async function readFields(): Promise<Map<string, FieldType[]>> {
  const fields = new Map<string, FieldType[]>();
  for (const [table, name] of await flow.fixture.rows(
    'select table_name, column_name from duckdb_columns() where not internal order by table_name, column_index',
  )) {
    const key = `warehouse.main.${table}`;
    fields.set(key, [...(fields.get(key) ?? []), { name: String(name) }]);
  }
  return fields;
}

interface Traced {
  table: string;
  /** By output column, the inputs `table.column`. */
  direct: Map<string, Set<string>>;
  deciding: Set<string>;
}

async function trace(statements: readonly string[]): Promise<Traced> {
  const fields = await readFields();
  const { outputs: written, gaps } = analyzeStep(statements, {
    parse,
    run: createRunTables(),
    findFields: (name) => fields.get(name) ?? null,
    nameFile: (name) => ({ kind: 'file', name }),
  });
  assert.deepEqual(gaps, []);
  const [output, ...others] = written;
  assert.ok(output?.columns !== undefined && others.length === 0, 'one output with its columns');
  const nameOf = ({ table, field }: { table: { name: string }; field: string }) =>
    `${table.name.replace('warehouse.main.', '')}.${field}`;
  return {
    table: output.table.name.replace('warehouse.main.', ''),
    direct: new Map(
      output.columns.map(({ name, sources }) => [name, new Set([...sources.values()].map(nameOf))]),
    ),
    deciding: new Set([...output.rows.values()].map(nameOf)),
  };
}

async function check(components: Components): Promise<void> {
  const random = createRandom(seed);
  const data = makeData(random);
  for (const [name, rows] of Object.entries(data)) await load(name, rows);
  flow.fixture.ranSql.length = 0;
  assert.deepEqual(await flow.run(components), { status: 'SUCCESS' });
  const statements = flow.fixture.ranSql.flatMap((ran) => ran.statements);
  const { table, direct, deciding } = await trace(statements);
  const described = await flow.fixture.rows(`select column_name from (describe ${table})`);
  const columnNames = described.flat().map(String);
  const expected = await readColumns(table, columnNames);
  assert.deepEqual(
    [...direct.keys()].filter((name) => !expected.has(name)),
    [],
    'all columns exist',
  );
  const changedBy = new Map<string, Set<string>>([...expected.keys()].map((name) => [name, new Set()]));
  const isSeen = (input: string) =>
    [...direct].every(([name, inputs]) => !inputs.has(input) || changedBy.get(name)?.has(input)) &&
    (!deciding.has(input) || [...changedBy.values()].some((inputs) => inputs.has(input)));
  const names = new Set(statements.join(' ').match(/\w+/g));
  for (const [source, columns] of Object.entries(tables).filter(([name]) => names.has(name))) {
    const rows = data[source] ?? [];
    for (const [index, [column, [, make]]] of Object.entries(columns).entries())
      for (let round = 0; round < mostRounds; round += 1) {
        if (round >= rounds && isSeen(`${source}.${column}`)) break;
        if (table === 'target') await load(table, data[table] ?? []);
        await load(
          source,
          rows.map((row) => row.with(index, make(random))),
        );
        for (const statement of statements) await flow.sql(statement);
        for (const [name, values] of await readColumns(table, columnNames))
          if (values !== expected.get(name)) changedBy.get(name)?.add(`${source}.${column}`);
      }
    await load(source, rows);
  }
  const wrong: string[] = [];
  for (const [name, inputs] of changedBy) {
    // Rows of before that stay in the table are not the step's.
    for (const input of inputs)
      if (!input.startsWith(`${table}.`) && !direct.get(name)?.has(input) && !deciding.has(input))
        wrong.push(`${input} changes ${name}, and is not named`);
    for (const input of direct.get(name) ?? [])
      if (!inputs.has(input)) wrong.push(`${input} is named for ${name}, and never changes it`);
  }
  for (const input of deciding)
    if (![...changedBy.values()].some((inputs) => inputs.has(input)))
      wrong.push(`${input} is named as deciding, and never changes anything`);
  assert.deepEqual(wrong, []);
}

for (const [name, components] of Object.entries(transformations))
  test(`values: ${name}`, () =>
    check({
      ...components,
      Out: { type: 'rewrite-table', sources: ['Last'], parameters: { targetTable: 'result' } },
    }));

for (const [name, components] of Object.entries(outputs)) test(`values: ${name}`, () => check(components));
