import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createdAt, list } from '../../../../testing/timetable.ts';
import { cronCases } from './cron-cases-fixture.ts';
import { nextTickAfter, parseTimetable } from './timetable.ts';

describe('cron expressions', () => {
  for (const { what, expression, zone = 'UTC', from, ticks } of cronCases) {
    it(`${what}: ${expression}`, () => {
      assert.deepEqual(list(expression, zone, from, ticks.length), ticks);
    });
  }

  it('six fields say the same as five', () => {
    const from = '2026-01-01';
    assert.deepEqual(list('0 0 2 ? * 2-6', 'UTC', from, 30), list('0 2 * * 1-5', 'UTC', from, 30));
    assert.deepEqual(list('0 0 2 ? * 7', 'UTC', from, 30), list('0 2 * * 6', 'UTC', from, 30));
  });
});

describe('wrong expressions', () => {
  const wrong: [expression: string, message: RegExp][] = [
    ['0 0 25 * * ?', /"0 0 25 \* \* \?": in hours \(field 3 of 6\), "25" is not 0–23/],
    ['61 * * * *', /in minutes \(field 1 of 5\), "61" is not 0–59/],
    ['0 0 0 ? * 8', /in day of week \(field 6 of 6\), "8" is not 1–7 or SUN–SAT/],
    ['0 0 0 ? * 0', /in day of week \(field 6 of 6\), "0" is not 1–7/],
    ['0 0 0 32 * ?', /in day of month \(field 4 of 6\), "32" is not 1–31/],
    ['0 0 0 ? * FRI#6', /n of DAY#n is 1–5/],
    ['0 0 0 1 FOO ?', /in month \(field 5 of 6\), "FOO" is not 1–12 or JAN–DEC/],
    ['0 0 0 1 1 ? 1969', /in year \(field 7 of 7\), "1969" is not 1970–2099/],
    ['0 0 0 1 1 ? 2030-2027', /"2030-2027" ends before it starts/],
    ['0 0 0 1 1 MON', /both choose days. Use "\?" in one/],
    ['0 0 0 ? * ?', /are both "\?"/],
    ['? * * * *', /in minutes \(field 1 of 5\), "\?" is not 0–59/],
    ['*/0 * * * *', /the step of "\*\/0" is not a number from 1 to 60/],
    ['*/61 * * * *', /the step of/],
    ['1--2 * * * *', /is not a range such as 0-59/],
    ['1, * * * *', /"" is not a value/],
    ['0 0 0 L-31 * ?', /no month has a day 31 days before its last/],
    ['0 0 0 W * ?', /"W" is not 1–31/],
    ['0 0 0 1-5W * ?', /is not 1–31/],
    ['0 0 0 ? * MON-FRIL', /is not 1–7/],
    ['', /has 0 fields/],
    ['@daily', /has 1 field\. Use 6 or 7 .* for example "0 0 2 \* \* \?"/],
    ['* * * * * * * *', /has 8 fields/],
    [`${'0,'.repeat(200)}0 * * * *`, /the limit is 255/],
  ];
  for (const [expression, message] of wrong) {
    it(`${JSON.stringify(expression).slice(0, 40)} is refused`, () => {
      const { fault } = parseTimetable({ cronExpression: expression, cronTimezone: 'UTC', createdAt });
      assert.equal(fault?.field, 'cronExpression');
      assert.match(fault.message, message);
    });
  }

  it('any text is an expression or a fault', () => {
    const character = fc.constantFrom(...'0123456789*/,-?LW# ', ...'MONFRIJAN', '\t', 'é', '\0');
    fc.assert(
      fc.property(fc.string({ unit: character, maxLength: 60 }), (expression) => {
        const read = parseTimetable({ cronExpression: expression, cronTimezone: 'UTC', createdAt });
        if (read.timetable !== undefined) nextTickAfter(read.timetable, createdAt);
      }),
      { numRuns: 2000 },
    );
  });
});
