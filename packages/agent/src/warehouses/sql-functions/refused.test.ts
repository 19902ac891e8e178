/** Calls that cannot be translated say what is wrong, and what to write. Others stay as they are. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { SqlError } from '@headgate/pipelines';
import {
  refuseZero,
  translatedFunctions,
  translateFunction,
} from '../../../../pipelines/src/sql/functions/index.ts';
import { translateType } from '../../../../pipelines/src/sql/functions/types.ts';
import { openSample } from './sample-data-fixture.ts';
import { translateExpression } from './translate-expression-fixture.ts';

const refused: readonly (readonly [expression: string, message: RegExp])[] = [
  ['DATEADD(fortnight, 1, d)', /^DATEADD: "fortnight" is not a unit of time: write one such as year/],
  ['DATEADD(day, 1)', /^DATEADD: |DATEADD takes/],
  ['LEFT(s)', /^LEFT takes 2 arguments, not 1$/],
  ['CURRENT_DATE(1)', /^CURRENT_DATE takes no arguments, not 1$/],
  ["TO_CHAR(d, 'none')", /^TO_CHAR: the format "none" has no element of a date/],
  ['TO_CHAR(d, s)', /^TO_CHAR: the format must be a text in quotes, not s$/],
  [
    "TO_CHAR(i, '99,9')",
    /^TO_CHAR: the format "99,9" is not supported: put a comma before each three digits/,
  ],
  ["REGEXP_SUBSTR(s, 'a', 1, 1, 'z')", /^REGEXP_SUBSTR: the parameter "z" is not known: write letters of/],
  [
    "REGEXP_REPLACE(s, 'a', 'b', 1, i)",
    /^REGEXP_REPLACE: the occurrence must be a whole number from 0, not i$/,
  ],
  ['SHA2(s, 512)', /^SHA2: checksums of 512 bits are not supported: write 256$/],
  ["TO_GEOGRAPHY('POINT(1 1)')", /^TO_GEOGRAPHY: places and shapes are not supported/],
  ['SYSTEM$WAIT(1)', /^SYSTEM\$WAIT: functions of the vendor’s system are not supported/],
  ['LAST_QUERY_ID()', /^LAST_QUERY_ID: results of earlier statements are not kept/],
  ["TO_NUMBER('1', 39, 0)", /^TO_NUMBER: the precision must be from 1 to 38/],
  ["OBJECT_CONSTRUCT('a')", /^OBJECT_CONSTRUCT: it takes pairs of a key and a value, not 1 arguments$/],
  ["GET_PATH(j, 'a..b')", /^GET_PATH: "a\.\.b" is not a path: write names and indices such as a\.b\[0\]$/],
  ["COLLATE(s, 'klingon-xx')", /^COLLATE: the collation "klingon-xx" is not supported/],
  ["NEXT_DAY(d, 'someday')", /^NEXT_DAY: "someday" is not a day of the week|^NEXT_DAY/],
  ['CONDITIONAL_CHANGE_EVENT(i)', /^CONDITIONAL_CHANGE_EVENT: it is not supported: compare with LAG/],
];

/** DuckDB's own SQL. */
const unchanged = [
  "regexp_replace(s, 'a', 'b', 'g')",
  'list_contains([1, 2], 1)',
  'array_contains([1, 2], 1)',
  'upper(s)',
  'length(s)',
  'date_add(d, INTERVAL 1 DAY)',
  'round(1.25, 1)',
  'count(*)',
  'max(d)',
  'coalesce(nul, s)',
  "strftime(d, '%Y')",
  'decode(s)',
  'lag(i) OVER (ORDER BY i)',
  'no_such_function(1)',
  "date_part(['year', 'month'], d)",
  "date_part('era', d)",
  'round(avg(i * 2), 2)',
  'count_if(i > 1)',
  'row_number() OVER (ORDER BY i)',
];

describe('functions that are refused', () => {
  for (const [expression, message] of refused) {
    it(expression, () => {
      assert.throws(
        () => translateExpression(expression),
        (error) => error instanceof SqlError && message.test(error.message),
      );
    });
  }
});

describe('functions that stay', () => {
  for (const expression of unchanged) {
    it(expression, () => assert.equal(translateExpression(expression), expression));
  }
});

describe('semi-structured results', () => {
  it('are marked, so that a path may follow', () => {
    const isJson = (name: string, ...args: string[]) =>
      translateFunction({ name, args, source: args, distinct: false, dialect: 'snowflake' })?.isJson;
    assert.equal(isJson('SPLIT', 's', "','"), true);
    assert.equal(isJson('ARRAY_AGG', 's'), true);
    assert.equal(isJson('ARRAY_SIZE', 's'), false);
    assert.equal(isJson('UPPER', '1'), false);
  });
});

describe('a divisor of 0', () => {
  const sampled = openSample();
  it('fails at the run, and only where it is reached', async () => {
    for (const divisor of ['0', '0.0', 'i - 42', 'nuli']) {
      const sql = `1 / ${refuseZero(divisor)}`;
      if (divisor === 'nuli') assert.equal(await sampled.read(sql), null);
      else await assert.rejects(sampled.read(sql), /division by zero/);
      assert.equal(
        await sampled.read(`case when i = 42 then 1 else ${sql} end`),
        divisor === 'none' ? '' : '1.0',
      );
    }
    await assert.rejects(sampled.read(translateExpression('MOD(i, 0)')), /division by zero/);
  });
  it('is not looked for where NULLIF has replaced it', () => {
    assert.equal(refuseZero('NULLIF(x, 0)'), 'NULLIF(x, 0)');
    assert.equal(refuseZero('4'), '4');
  });
  it('OBJECT_INSERT of a key that is there fails at the run', async () => {
    const sql = translateExpression("OBJECT_INSERT(j, 'a', 2)");
    await assert.rejects(sampled.read(sql), /OBJECT_INSERT: the object has the key already/);
  });
});

describe('types', () => {
  const types: readonly (readonly [name: string, args: readonly string[], duckdb: string | undefined])[] = [
    ['NUMBER', ['10', '2'], 'DECIMAL(10, 2)'],
    ['NUMBER', [], 'DECIMAL(38, 0)'],
    ['numeric', ['12'], 'DECIMAL(12, 0)'],
    ['VARCHAR', ['16777216'], 'VARCHAR'],
    ['varchar', ['MAX'], 'VARCHAR'],
    ['double   precision', [], 'DOUBLE'],
    ['TIMESTAMP_NTZ', ['9'], 'TIMESTAMP'],
    ['TIMESTAMP_LTZ', [], 'TIMESTAMP WITH TIME ZONE'],
    ['VARIANT', [], 'JSON'],
    ['INT', [], 'BIGINT'],
    ['STRUCT', [], undefined],
    ['HUGEINT', [], undefined],
  ];
  for (const [name, args, duckdb] of types) {
    it(`${name}(${args.join(', ')}) → ${duckdb}`, () => assert.equal(translateType(name, args), duckdb));
  }
  it('INT of Redshift has 32 bits', () => assert.equal(translateType('INT', [], 'redshift'), 'INTEGER'));
  it('a size that is too large is refused', () => {
    assert.throws(
      () => translateType('NUMBER', ['39', '2']),
      /NUMBER\(39, 2\) is not a type: write a size from 1/,
    );
    assert.throws(() => translateType('GEOGRAPHY', []), /the type GEOGRAPHY is not supported: keep/);
  });
});

describe('docs/sql-functions.md', () => {
  it('lists every translated function', () => {
    const page = readFileSync(new URL('../../../../../docs/sql-functions.md', import.meta.url), 'utf8');
    const words = new Set(page.match(/[A-Z][A-Z0-9_]+(?: ANY| ALL)?/g));
    assert.deepEqual(
      translatedFunctions.filter((name) => !words.has(name) && !words.has(name.replace(/^NOT /, ''))),
      [],
    );
  });
});
