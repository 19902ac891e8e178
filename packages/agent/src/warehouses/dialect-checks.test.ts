/**
 * Expressions and scripts of both dialects against the results of the vendors' documentation, in one table with a
 * count.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { createSqlFixture } from './sql-rewriting-fixture.ts';

interface Check {
  dialect: 'snowflake' | 'redshift';
  expression: string;
  expected: string;
  source: string;
}

const sources = ['documentation', 'test suite', 'not found'];

function readChecks(): Check[] {
  const lines = readFileSync(new URL('dialect-checks.txt', import.meta.url), 'utf8').split('\n');
  let dialect: Check['dialect'] = 'snowflake';
  return lines.flatMap((line): Check[] => {
    const [, named] = /^#(snowflake|redshift) /.exec(line) ?? [];
    if (named !== undefined) dialect = named as Check['dialect'];
    const [expression = '', expected, source = ''] = line.split('\t');
    return expected === undefined ? [] : [{ dialect, expression, expected, source }];
  });
}

const isScript = /^(?:begin|create|drop|select|set|with)\s/i;

const writeRows = (rows: unknown[][]) =>
  rows.map((row) => row.map((value) => (value === null ? 'NULL' : String(value))).join('|')).join(' ; ');

describe('the dialects', () => {
  const checks = readChecks();
  it('say where each result was found, and state no expression twice', () => {
    for (const { expression, source } of checks)
      assert.ok(sources.includes(source), `${expression}: "${source}"`);
    const keys = checks.map(({ dialect, expression }) => `${dialect} ${expression}`);
    assert.deepEqual(
      keys.filter((key, index) => keys.indexOf(key) !== index),
      [],
    );
  });
  for (const dialect of ['snowflake', 'redshift'] as const)
    it(`gives the results of the documentation of ${dialect}`, async (test) => {
      const sql = await createSqlFixture({ vendor: dialect });
      const counts = { right: 0, refused: 0 };
      const wrong: string[] = [];
      const ofDialect = checks.filter((each) => each.dialect === dialect);
      for (const { expression, expected } of ofDialect) {
        const script = isScript.test(expression) ? expression : `select (${expression})::varchar`;
        const result = await sql
          .rows(script)
          .then(writeRows, (error: Error) =>
            expected === 'refused' ? 'refused' : `refused: ${error.message}`,
          );
        if (result !== expected) wrong.push(`${expression} is ${result}, not ${expected}`);
        else counts[expected === 'refused' ? 'refused' : 'right'] += 1;
      }
      sql.close();
      test.diagnostic(`${dialect}: ${counts.right} right, ${counts.refused} refused, ${wrong.length} wrong`);
      const found = sources.map(
        (source) => `${ofDialect.filter((each) => each.source === source).length} ${source}`,
      );
      test.diagnostic(`${dialect}: ${found.join(', ')}`);
      assert.deepEqual(wrong, []);
    });
});
