/** TO_*, TRY_TO_* and casts, by their results. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Case, describeCases, openSample } from './sample-data-fixture.ts';
import { translateCastOf } from './translate-expression-fixture.ts';

const toText: readonly Case[] = [
  ["TO_CHAR(255, '000x')", '00ff'],
  ["TO_CHAR(i, 'XXXX')", '  2A'],
  ["TO_CHAR(d, 'YYYY-MM-DD')", '2024-02-29'],
  ["TO_CHAR(ts, 'YYYYMMDDHH24MISS')", '20240229131415'],
  ["TO_VARCHAR(ts, 'DD-MON-YYYY HH12:MI:SS AM')", '29-Feb-2024 01:14:15 PM'],
  ["TO_CHAR(ts, 'mm/dd/yyyy hh24:mi:ss.ff3')", '02/29/2024 13:14:15.678'],
  ["TO_CHAR(ts, 'HH24:MI:SS.FF9')", '13:14:15.678901000'],
  ["TO_CHAR(ts, 'FF1')", '6'],
  ["TO_CHAR(d, 'MMMM DD, YYYY')", 'February 29, 2024'],
  ["TO_CHAR(d, 'DY')", 'Thu'],
  ['TO_CHAR(d, \'"Today is " yyyy\')', 'Today is  2024'],
  ['TO_CHAR(\'2024-03-05\'::timestamp, \'YYYY-MM-DD"T"HH24:MI:SS"Z"\')', '2024-03-05T00:00:00Z'],
  ["TO_CHAR(dt, 'YYYY')", '2024'],
  ["TO_CHAR(tz, 'YYYY-MM-DD HH24:MI:SS TZHTZM')", '2024-02-29 13:14:15 +0000'],
  ["TO_CHAR(CURRENT_DATE(), 'YYYY') = TO_CHAR(YEAR(CURRENT_DATE()))", 'true'],
  ["TO_CHAR(nuld, 'YYYY')", null],
  ['TO_VARCHAR(d)', '2024-02-29'],
  ['TO_VARCHAR(ts)', '2024-02-29 13:14:15.678'],
  ['TO_CHAR(i)', '42'],
  ['TO_CHAR(amount)', '1234.50'],
  ['TO_CHAR(b)', 'true'],
  ['TO_CHAR(x)', '2.5'],
  ['TO_CHAR(CAST(1 AS DOUBLE))', '1'],
  ["TO_VARCHAR(GET(j, 's'))", 'text'],
  ["TO_VARCHAR(GET(j, 'b'))", '{"c":[10,20,null]}'],
  ["TO_CHAR(amount, '999,999.00')", '   1,234.50'],
  ["TO_CHAR(amount, 'FM999,999.00')", '1,234.50'],
  ["TO_CHAR(123456.789, 'FM999,999.00')", '123,456.79'],
  ["TO_CHAR(-12.3, '$99.0')", '-$12.3'],
  ["TO_CHAR(5, '000')", ' 005'],
  ["TO_CHAR(5, 'FM000')", '005'],
  ["TO_CHAR(-5, 'FM000')", '-005'],
  ["TO_CHAR(1234, '999')", ' ###'],
  ["TO_CHAR(12, 'S99')", '+12'],
  ["TO_CHAR(-12, '99MI')", '12-'],
  ["TO_CHAR(0.5, 'FM990.00')", '0.50'],
  ["TO_CHAR(nuli, '999')", null],
  ["TO_JSON(OBJECT_CONSTRUCT('b', 1, 'a', 'x'))", '{"a":"x","b":1}'],
];

const toMoment: readonly Case[] = [
  ["TO_DATE('2024-02-29')", '2024-02-29'],
  ["TO_DATE('02/29/2024')", '2024-02-29'],
  ["TO_DATE('29-Feb-2024')", '2024-02-29'],
  ["TO_DATE('Thu, 29 Feb 2024 10:00:00 +0000')", '2024-02-29'],
  ["TO_DATE('02/29/2024 10:00:00')", '2024-02-29'],
  ["TO_DATE('2024.02.29', 'YYYY.MM.DD')", '2024-02-29'],
  ["TO_DATE('20240229', 'YYYYMMDD')", '2024-02-29'],
  ["TO_DATE(20240229, 'YYYYMMDD')", '2024-02-29'],
  ["TO_DATE('3/4/2024', 'dd/mm/yyyy')", '2024-04-03'],
  ["TO_DATE('31536000000')", '1971-01-01'],
  ['TO_DATE(ts)', '2024-02-29'],
  ['TO_DATE(dt)', '2024-02-29'],
  ['TO_DATE(nul)', null],
  ['DATE(ts)', '2024-02-29'],
  ["TRY_TO_DATE('2024-02-30')", null],
  ['TRY_TO_DATE(s)', null],
  ['TRY_TO_DATE(dt)', '2024-02-29'],
  ["TRY_TO_DATE('x', 'YYYY')", null],
  ['TO_DATE(GET(PARSE_JSON(\'{"d":"2024-01-02"}\'), \'d\'))', '2024-01-02'],
  ["TO_TIMESTAMP('2024-02-29 01:02:03')", '2024-02-29 01:02:03'],
  ["TO_TIMESTAMP('2024-02-29T01:02:03.456Z')", '2024-02-29 01:02:03.456'],
  ["TO_TIMESTAMP_NTZ('2024-02-29 01:02:03 +0200')", '2024-02-29 01:02:03'],
  ["TO_TIMESTAMP_TZ('2024-02-29 01:02:03 +0000')", '2024-02-29 01:02:03+00'],
  ["TO_TIMESTAMP_LTZ('2024-02-29 01:02:03 +0200')", '2024-02-28 23:02:03+00'],
  ["TO_TIMESTAMP_LTZ('2024-02-29 01:02:03')", '2024-02-29 01:02:03+00'],
  ["TO_TIMESTAMP('02/29/2024 01:02:03')", '2024-02-29 01:02:03'],
  ["TO_TIMESTAMP('04/05/2013 01:02:03', 'mm/dd/yyyy hh24:mi:ss')", '2013-04-05 01:02:03'],
  ["TO_TIMESTAMP('2013-04-05 01:02:03.123456789', 'YYYY-MM-DD HH24:MI:SS.FF')", '2013-04-05 01:02:03.123456'],
  ["TO_TIMESTAMP('Thu, 04 Apr 2013 01:02:03 +0000')", '2013-04-04 01:02:03'],
  ["TO_TIMESTAMP('2013-04-05 01:02 PM', 'YYYY-MM-DD HH12:MI AM')", '2013-04-05 13:02:00'],
  // A text that is a whole number: the unit depends on its size.
  ["TO_TIMESTAMP('31536000')", '1971-01-01 00:00:00'],
  ["TO_TIMESTAMP('31536000000')", '1971-01-01 00:00:00'],
  ["TO_TIMESTAMP('31536000000000')", '1971-01-01 00:00:00'],
  ["TO_TIMESTAMP('31536000000000000')", '1971-01-01 00:00:00'],
  ['TO_TIMESTAMP(31536000)', '1971-01-01 00:00:00'],
  ['TO_TIMESTAMP(1487654321123, 3)', '2017-02-21 05:18:41.123'],
  ['TO_TIMESTAMP(1487654321123456789, 9)', '2017-02-21 05:18:41.123456'],
  ['TO_TIMESTAMP(i)', '1970-01-01 00:00:42'],
  ['TO_TIMESTAMP(d)', '2024-02-29 00:00:00'],
  ['TO_TIMESTAMP(tst)', '2024-02-29 13:14:15'],
  ['TO_TIMESTAMP_NTZ(tz)', '2024-02-29 13:14:15'],
  ['TRY_TO_TIMESTAMP(s)', null],
  ["TRY_TO_TIMESTAMP_NTZ('2024-13-01 00:00:00')", null],
  ["TRY_TO_TIMESTAMP('9999-12-31 00:00:00.000', 'YYYY-MM-DD HH24:MI:SS.FF3')", '9999-12-31 00:00:00'],
  ["TO_TIME('13:14:15')", '13:14:15'],
  ["TO_TIME('11.15.00', 'HH24.MI.SS')", '11:15:00'],
  ["TRY_TO_TIME('x')", null],
];

const toNumber: readonly Case[] = [
  ["TO_NUMBER('12.5')", '13'],
  ["TO_NUMBER('12.3456', 10, 2)", '12.35'],
  ["TO_DECIMAL('-12.3', '99.9', 9, 5)", '-12.30000'],
  ["TO_NUMBER('$1,234.56', '$9,999.99', 10, 2)", '1234.56'],
  ["TO_NUMBER('ff', 'XX')", '255'],
  ['TO_NUMBER(digits)', '7'],
  ['TO_NUMBER(nul)', null],
  ["TRY_TO_NUMBER('abc')", null],
  ["TRY_TO_DECIMAL('1.25', 10, 1)", '1.3'],
  ["TRY_TO_NUMBER('')", null],
  ["TO_DOUBLE('1e3')", '1000.0'],
  ["TRY_TO_DOUBLE('x')", null],
  ["TO_NUMBER(GET(j, 'a'))", '1'],
  ["TO_BOOLEAN('yes')", 'true'],
  ["TO_BOOLEAN('OFF')", 'false'],
  ['TO_BOOLEAN(1)', 'true'],
  ['TO_BOOLEAN(0)', 'false'],
  ["TRY_TO_BOOLEAN('maybe')", null],
  ['TO_BOOLEAN(nul)', null],
  ["TO_BINARY('4142', 'HEX')", 'AB'],
  ["TO_CHAR(TO_BINARY('hi', 'UTF-8'), 'HEX')", '6869'],
  ["TO_VARCHAR(TO_BINARY('hi', 'UTF-8'))", '6869'],
  ["TO_VARCHAR(TO_BINARY('hi', 'UTF-8'), 'UTF-8')", 'hi'],
];

const redshift: readonly Case[] = [
  ["TO_CHAR(ts, 'Mon DD YYYY')", 'Feb 29 2024'],
  ["TO_CHAR(ts, 'MON')", 'FEB'],
  ["TO_CHAR(ts, 'Month')", 'February '],
  ["TO_CHAR(ts, 'FMMonth')", 'February'],
  ["TO_CHAR(ts, 'Day')", 'Thursday '],
  ["TO_CHAR(ts, 'D')", '5'],
  ["TO_CHAR(ts, 'DDD')", '060'],
  ["TO_CHAR(ts, 'Q')", '1'],
  ["TO_CHAR(ts, 'IYYY-IW')", '2024-09'],
  ["TO_CHAR(ts, 'HH:MI AM')", '01:14 PM'],
  ["TO_CHAR(125.8, '999.99')", ' 125.80'],
  ["TO_CHAR(0.5, 'FM999.99')", '.5'],
  ["TO_DATE('02 Oct 2001', 'DD Mon YYYY')", '2001-10-02'],
  ["TO_DATE('2024-02-29 13:14:15', 'YYYY-MM-DD')", '2024-02-29'],
  ["TO_DATE(tst, 'YYYY-MM-DD')", '2024-02-29'],
  ["TO_NUMBER('12,454.8-', '99G999D9S')", '-12454.8'],
  ["TO_TIMESTAMP('05 Dec 2000', 'DD Mon YYYY')", '2000-12-05 00:00:00+00'],
];

describeCases('conversions to text', toText);
describeCases('conversions to dates and times', toMoment);
describeCases('conversions to numbers', toNumber);
describeCases('conversions of Redshift', redshift, { dialect: 'redshift' });

const casts: readonly (readonly [value: string, type: string, expected: string | null])[] = [
  ["'abcdef'", 'VARCHAR(6)', 'abcdef'],
  ['ts', 'VARCHAR', '2024-02-29 13:14:15.678'],
  ["GET(j, 's')", 'STRING', 'text'],
  ["GET(j, 'n')", 'STRING', null],
  ["GET(j, 'a')", 'INT', '1'],
  ["GET(j, 'a')", 'NUMBER(10,2)', '1.00'],
  ['x', 'INT', '3'],
  ['amount', 'INT', '1235'],
  ["'12.7'", 'NUMBER', '13'],
  ['amount', 'NUMBER(10,1)', '1234.5'],
  ["'02/29/2024'", 'DATE', '2024-02-29'],
  ['ts', 'DATE', '2024-02-29'],
  ["'2024-02-29T10:00:00Z'", 'TIMESTAMP_NTZ', '2024-02-29 10:00:00'],
  ["'on'", 'BOOLEAN', 'true'],
  ["'text'", 'VARIANT', '"text"'],
  ['i', 'VARIANT', '42'],
  ['NULL', 'VARCHAR', null],
  ['digits', 'FLOAT', '7.0'],
  ['9000000000', 'INTEGER', '9000000000'],
];

describe('casts', () => {
  const sampled = openSample();
  for (const [value, type, expected] of casts) {
    it(`${value}::${type} → ${expected ?? 'NULL'}`, async () => {
      const sql = translateCastOf(value, type);
      assert.deepEqual(await sampled.read(sql), expected, sql);
    });
  }
  it('TRY_CAST gives NULL', async () => {
    for (const type of ['INT', 'NUMBER(10,2)', 'DATE', 'TIMESTAMP_NTZ', 'BOOLEAN', 'FLOAT']) {
      assert.equal(await sampled.read(translateCastOf('s', type, 'snowflake', true)), null, type);
    }
  });
});
