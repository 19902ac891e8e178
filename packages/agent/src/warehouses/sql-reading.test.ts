/** SQL is read as DuckDB reads it, and as the vendors do before it is translated. DuckDB itself is the judge. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { validateProject } from '../../../pipelines/src/check/validate-project-fixture.ts';
import { createSqlFixture, type SqlFixture } from './sql-rewriting-fixture.ts';
import { readStatements, splitStatements } from './statements/sql-words.ts';

describe('texts, comments and blanks of a script', () => {
  let sql: SqlFixture;
  before(async () => {
    sql = await createSqlFixture();
  });
  after(() => sql.close());

  const cases: [script: string, rows: unknown[][]][] = [
    ["select 'it\\'s; fine'", [["it's; fine"]]],
    ['select\u00a0greatest(1,\u00a0null)', [[null]]],
    ['select greatest\u2003(1, null)\u3000;\u00a0', [[null]]],
    ["select 'a\u00a0b'", [['a\u00a0b']]],
    ['select 1, // the first; one\n2', [[1, 2]]],
    ['select 7 // 2', [[3]]],
    ['/* a /* b */ select greatest(1, null)', [[null]]],
    ["select e'a'\n'\\'b'", [["a'b"]]],
    ["select greatest(1, null); -- it's\nselect greatest(2, null)", [[null]]],
  ];
  for (const [script, rows] of cases)
    it(JSON.stringify(script), async () => assert.deepEqual(await sql.rows(script), rows));

  it('a query with an escaped quote passes the check at upload', () => {
    const text = JSON.stringify({
      type: 'orchestration',
      version: '1.0',
      pipeline: {
        components: {
          Start: {
            type: 'start',
            transitions: { unconditional: ['Ask'] },
            parameters: { componentName: 'Start' },
          },
          Ask: {
            type: 'query-to-scalar',
            parameters: {
              componentName: 'Ask',
              mode: 'Advanced',
              query: "select 'it\\'s; fine' as a",
              scalarVariableMapping: [['x', 'a']],
            },
          },
        },
        variables: {
          x: { metadata: { type: 'TEXT', scope: 'SHARED', visibility: 'PRIVATE' }, defaultValue: '' },
        },
      },
      design: { components: {} },
    });
    assert.deepEqual(validateProject([{ path: 'ask.orch.yaml', text }]), []);
  });
});

describe('the words of DuckDB’s SQL', () => {
  let instance: DuckDBInstance;
  let connection: DuckDBConnection;
  before(async () => {
    instance = await DuckDBInstance.create(':memory:');
    connection = await instance.connect();
  });
  after(() => {
    connection.closeSync();
    instance.closeSync();
  });

  /** The statements that DuckDB finds in a script; undefined if it cannot read it. */
  async function countOfDuckdb(sql: string): Promise<number | undefined> {
    try {
      return (await connection.extractStatements(sql)).count;
    } catch {
      return undefined;
    }
  }

  async function compare(sql: string): Promise<boolean> {
    const count = await countOfDuckdb(sql);
    if (count === undefined) return false;
    assert.equal(readStatements(sql).length, count, JSON.stringify(sql));
    const parts = splitStatements(sql);
    assert.equal(parts.length, count, JSON.stringify(sql));
    for (const part of parts) assert.ok(((await countOfDuckdb(part)) ?? 1) === 1, JSON.stringify(part));
    return true;
  }

  for (const sql of [
    "select e'a'\n'\\'; select 2 -- '",
    "select e'a' -- /*\n'\\''; select 2",
    "select e'a'\r'\\';' as b",
    "select e'a' /* \n */ || '\\'; select 2",
    "select 'a'\n'\\'; select 2",
    'select 4 //* ; */ 2; select 1',
    'select 1 -- a;\r; select 2',
    "select $ä$ ; $$ $ä$; select $$ ' $$",
    'select 1 as a$b$; select 2',
    'select\u00a01;\u2003select\u30002',
    'select \'\u00a0;\' as "\u00a0;"; select 2',
    'select 1 as a\u1680b; select 2',
    'select 1 as a\u2028; select 2',
    'select 1_000; select 0x1, .5e3, 1.',
    'select 1 <--;\n 2; select 2',
  ])
    it(`are divided as DuckDB does: ${JSON.stringify(sql)}`, async () => {
      assert.ok(await compare(sql), 'DuckDB reads it');
    });

  it('are divided as DuckDB does, whatever they are', async () => {
    const piece = fc.constantFrom(
      ..."select|1|a|;|;|'|''|\\|\\'|e'|E'x'|\"|$$|$a$|--|/*|*/|\n|\r| |\u00a0|//|,|'a'|as|+|(|)|`|0x|_|.".split(
        '|',
      ),
    );
    const statement = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
    let read = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(statement, { maxLength: 3 }), async (bodies) => {
        if (await compare(bodies.map((body) => `select 1 ${body}`).join(';'))) read += 1;
      }),
      { numRuns: 3_000 },
    );
    assert.ok(read > 100, `DuckDB reads ${read} of them`);
  });
});
