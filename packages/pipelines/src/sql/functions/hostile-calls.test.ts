/** Stray arguments give an SqlError or SQL, and nested calls do not grow beyond bounds. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SqlError } from '../dialect/dialect.ts';
import { translateCast, translatedFunctions, translateFunction } from './index.ts';

const hostile = [
  '',
  "'",
  "''",
  '(((',
  ')',
  '*',
  'NULL',
  "'YYYY\"MM'",
  "'%%n%'",
  "'[[['",
  "'(?i)('",
  '-',
  '999999999999999999999',
  '-1',
  '1e400',
  'a.b.c.d',
  '"',
  `'${'9,'.repeat(500)}'`,
  `CAST(${'('.repeat(300)}`,
  `a AS ${'AS '.repeat(2_000)})`,
  `x ${' '.repeat(3_000)} desc`,
  `${'a + '.repeat(30)}b`,
  '$1',
  'ＹＥＡＲ',
  "'\u0000'",
];

function attempt(name: string, args: readonly string[]): string | undefined {
  for (const dialect of ['snowflake', 'redshift'] as const) {
    try {
      const call = { name, args, source: args, distinct: false, dialect, orderBy: args[0], over: args[1] };
      translateFunction(call);
    } catch (error) {
      if (!(error instanceof SqlError)) return `${name}(${args.join(', ')}): ${String(error)}`;
    }
  }
  return undefined;
}

describe('hostile arguments', () => {
  it('give an SqlError or SQL', () => {
    const began = process.threadCpuUsage();
    const failures: string[] = [];
    for (const name of translatedFunctions) {
      for (let count = 0; count <= 7; count += 1) {
        for (let at = 0; at < hostile.length; at += 1) {
          const args = Array.from(
            { length: count },
            (_, index) => hostile[(at + index * 7) % hostile.length] ?? '',
          );
          const failure = attempt(name, args);
          if (failure !== undefined) failures.push(failure);
        }
      }
    }
    assert.deepEqual(failures, []);
    assert.ok(process.threadCpuUsage(began).user < 60_000_000);
  });

  it('give an SqlError or SQL in casts', () => {
    for (const type of [
      'VARCHAR',
      'NUMBER',
      'DATE',
      'TIMESTAMP_TZ',
      'BOOLEAN',
      'INT',
      'VARIANT',
      'FLOAT',
      'x',
    ]) {
      for (const value of hostile) {
        for (const args of [[], ['10'], ['10', '2']]) {
          const cast = { value, type, args, safe: false, dialect: 'snowflake' } as const;
          try {
            translateCast(cast);
          } catch (error) {
            assert.ok(error instanceof SqlError, `${value}::${type}: ${String(error)}`);
          }
        }
      }
    }
  });
});

describe('nested calls', () => {
  it('grow by a bounded length at each level, or are refused', () => {
    const began = process.threadCpuUsage();
    const longest: string[] = [];
    for (const name of translatedFunctions) {
      let sql = "json_extract(j, '$.a')";
      for (let level = 0; level < 20; level += 1) sql = nest(name, sql) ?? sql;
      if (sql.length > 20 * 5_000) longest.push(name);
    }
    // Aggregates and windows, which cannot stand in one another.
    const repeating = [
      'APPROXIMATE_COUNT_DISTINCT',
      'APPROX_COUNT_DISTINCT',
      'AVG',
      'HLL',
      'MEDIAN',
      'RATIO_TO_REPORT',
      'VARIANCE',
      'VARIANCE_POP',
      'VARIANCE_SAMP',
      'VAR_POP',
      'VAR_SAMP',
    ];
    assert.deepEqual(longest, repeating);
    assert.ok(process.threadCpuUsage(began).user < 60_000_000);
  });

  it('are refused beyond the longest SQL', () => {
    let sql = 'a';
    const nestAgain = () => {
      for (let level = 0; level < 40; level += 1) {
        const args = [sql];
        const call = {
          name: 'RATIO_TO_REPORT',
          args,
          source: args,
          distinct: false,
          dialect: 'snowflake',
        } as const;
        sql = translateFunction(call)?.sql ?? sql;
      }
    };
    assert.throws(nestAgain, /^SqlError|RATIO_TO_REPORT: the expression is nested too deeply/);
  });

  /** The call with the SQL as an argument, in the first form that the function takes. */
  function nest(name: string, sql: string): string | undefined {
    const forms = [
      ['day', '1', sql],
      ['month', sql],
      [sql],
      [sql, "'a'"],
      [sql, "'a'", "'b'"],
      [sql, '1'],
      [sql, '1', '2', '3'],
    ];
    for (const args of forms) {
      try {
        const call = { name, args, source: args, distinct: false, dialect: 'snowflake' } as const;
        const translated = translateFunction(call)?.sql;
        if (translated?.includes(sql) === true) return translated;
      } catch (error) {
        if (!(error instanceof SqlError)) throw error;
      }
    }
    return undefined;
  }
});
