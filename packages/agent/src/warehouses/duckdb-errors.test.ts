import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { translatedFunctions } from '../../../pipelines/src/sql/functions/index.ts';
import { explainError } from './duckdb-errors.ts';
import { foreignFunctions } from './foreign-functions.ts';

let folder: string;
let connection: DuckDBConnection;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-errors-'));
  connection = await (await DuckDBInstance.create()).connect();
});
after(() => {
  connection.closeSync();
  rmSync(folder, { recursive: true });
});

async function explain(sql: string): Promise<string> {
  const error: unknown = await connection.run(sql).then(
    () => assert.fail('it did not fail'),
    (reason: unknown) => reason,
  );
  return explainError(error, { memoryMegabytes: 64, processMegabytes: 512 }, sql);
}

function explainFile(text: string, options: string): Promise<string> {
  const file = join(folder, 'f.csv');
  writeFileSync(file, text);
  return explain(`select * from read_csv('${file}', header = true, delim = ',', columns = {${options}})`);
}

describe('errors of DuckDB', () => {
  it('name the vendor of a function that is not there, and what to write', async () => {
    const wrong = 'which is not supported here';
    assert.equal(
      await explain('select Safe_Divide(1, 0)'),
      `SAFE_DIVIDE is a function of BigQuery, ${wrong}: write DIV0NULL(a, b), or a / NULLIF(b, 0)`,
    );
    assert.match(await explain('select * from explode([1])'), /^EXPLODE is a function of Databricks/);
    assert.match(await explain('select nowhere_at_all(1)'), /^Catalog Error: Scalar Function with name/);
    const reader = await connection.runAndReadAll('select distinct function_name from duckdb_functions()');
    const known = new Set([
      ...reader.getRows().flat().map(String),
      ...translatedFunctions.map((each) => each.toLowerCase()),
    ]);
    assert.deepEqual(
      foreignFunctions.filter((name) => known.has(name)),
      [],
    );
  });

  it('leave out the candidates for an operator, which are fifty, and keep a few of a function', async () => {
    assert.match(
      await explain("select now() + 'a'::blob"),
      /types '\+\(TIMESTAMP WITH TIME ZONE, BLOB\)'\. You might need to add explicit type casts\.\n\nLINE/,
    );
    assert.match(await explain('select year(true)'), /Candidate functions:\n\tyear\(/);
  });

  it('say what ON CONFLICT needs', async () => {
    await connection.run('create table unkeyed (a int)');
    for (const sql of [
      'insert or replace into unkeyed values (1)',
      'insert into unkeyed values (1) on conflict do nothing',
      'insert into unkeyed values (1) on conflict (a) do nothing',
    ])
      assert.match(await explain(sql), /^ON CONFLICT .* CREATE UNIQUE INDEX, or use MERGE$/);
    await connection.run('create unique index u on unkeyed (a)');
    await connection.run('insert or replace into unkeyed values (1)');
    await connection.run('drop table unkeyed');
  });

  it('propose no table of the system instead of one that does not exist', async () => {
    assert.equal(
      await explain('insert into nope values (1)'),
      'Catalog Error: Table with name nope does not exist!',
    );
    assert.match(await explain('select * from loop_1'), /^Catalog Error: .* does not exist!\n\nLINE 1: /);
    await connection.run('create table invoices (id integer)');
    assert.match(await explain('insert into invoice values (1)'), /Did you mean "invoices"\?$/);
  });

  it('name the schema in which a table was looked for', async () => {
    await connection.run('create schema gold; create schema "db.gold"');
    const cases = {
      'select * from gold.Nothing': 'gold.Nothing',
      'insert into "db.gold"."NOTHING" values (1)': 'db.gold.NOTHING',
      'select * from memory.gold.nothing': 'memory.gold.nothing',
    };
    for (const [sql, place] of Object.entries(cases)) {
      assert.match(
        await explain(sql),
        new RegExp(`^Catalog Error: Table with name ${place} does not exist!`),
      );
    }
    assert.match(
      await explain("select 'gold.nothing', nothing.a from nothing"),
      /^Catalog Error: Table with name nothing does not exist!/,
    );
  });

  it('show names with dots as they were written', async () => {
    await connection.run('create schema "my%2Eschema"; create table "my%2Eschema"."my.orders" (a integer)');
    await connection.run('create schema "lake.50%25"; create table "lake.50%25".customers (a integer)');
    const cases: [sql: string, message: string][] = [
      [
        'select * from "my.orders"',
        'Table with name my.orders does not exist!\nDid you mean "my.schema.my.orders"?',
      ],
      [
        'insert into customers values (1)',
        'Table with name customers does not exist!\nDid you mean "lake.50%.customers"?',
      ],
      [
        'select * from "my%2Eschem".t',
        'Table with name "my.schem.t" does not exist because schema "my.schem" does not exist.',
      ],
      ['drop schema "my%2Enope"', 'Schema with name my.nope does not exist!'],
      ['create schema "my%2Eschema"', 'Schema with name "my.schema" already exists!'],
    ];
    for (const [sql, message] of cases)
      assert.equal((await explain(sql)).split('\n\nLINE')[0], `Catalog Error: ${message}`);
    assert.match(await explain("select 'a%2Eb'::int"), /Could not convert string 'a%2Eb' to INT/);
  });

  it('say how many columns a CSV file has', async () => {
    assert.equal(
      await explainFile('id,name,amount\n1,Ada,5\n', "'id': 'INTEGER', 'name': 'VARCHAR'"),
      `the file "${join(folder, 'f.csv')}" has 3 columns, but 2 are named: name each column of the file in its order, and check the delimiter`,
    );
  });

  it('say in which line of a CSV file a value is wrong, without the settings of the reader', async () => {
    assert.equal(
      await explainFile('id,day\n1,x\n', "'id': 'INTEGER', 'day': 'DATE'"),
      `Conversion Error: CSV Error on Line: 2\nOriginal Line: 1,x\nError when converting column "day". Could not convert string "x" to 'DATE'`,
    );
  });

  it('say which line of a CSV file has other cells', async () => {
    const rows = Array.from({ length: 30_000 }, (_, i) => `${i},x\n`).join('');
    const message = await explainFile(`id,name\n${rows}7,y,z\n`, "'id': 'INTEGER', 'name': 'VARCHAR'");
    assert.equal(
      message,
      'Invalid Input Error: CSV Error on Line: 30002\nOriginal Line: 7,y,z\nExpected Number of Columns: 2 Found: 3',
    );
  });
});
