import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createdAt, list, parse, write } from '../../../../testing/timetable.ts';
import { findTicklessFault, ignoreStart, listTicks, nextTickAfter, parseTimetable } from './timetable.ts';

describe('expressions that never fire', () => {
  const now = new Date('2026-11-23T00:00:00Z');
  for (const expression of [
    '0 0 0 30 2 ?',
    '0 0 0 31 4,6,9,11 ?',
    '0 0 0 1 1 ? 2025',
    '0 0 0 29 2 ? 2027',
    '0 0 0 L-30 2 ?',
    '0 0 0 ? 2 SUN#5 2027',
  ]) {
    it(`${expression} is refused`, () => {
      const timetable = parse({ cronExpression: expression });
      const fault = findTicklessFault(timetable, { cronExpression: expression }, now);
      assert.equal(fault?.field, 'cronExpression');
      assert.match(
        fault.message,
        /^".*" never fires between 2026-11-23T00:00:00.000Z and the end of 2099\. Choose/,
      );
    });
  }

  it('a list whose only times are in a gap', () => {
    const about = { cronExpression: '0 15,30 2 29 3 ? 2026', cronTimezone: 'Europe/Berlin' };
    assert.equal(nextTickAfter(parse(about), new Date('2026-01-01')), undefined);
  });

  it('an effectiveFrom after the last year', () => {
    const about = {
      intervalExpression: { interval: 1, unit: 'DAYS' },
      effectiveFrom: new Date('2150-01-01'),
    };
    const fault = findTicklessFault(parse(about), about, now);
    assert.equal(fault?.field, 'intervalExpression');
    assert.match(fault.message, /between 2150-01-01/);
  });

  it('one that fires is not refused', () => {
    const cronExpression = '0 0 0 29 2 ?';
    assert.equal(findTicklessFault(parse({ cronExpression }), { cronExpression }, now), undefined);
  });
});

describe('time zones', () => {
  for (const zone of ['', 'Nowhere/City', '+02:00', 'Europe/Berlin ', 'UTC+2', '🌍', 'x'.repeat(300)]) {
    it(`${JSON.stringify(zone).slice(0, 20)} is refused`, () => {
      const { fault } = parseTimetable({ cronExpression: '0 0 * * *', cronTimezone: zone, createdAt });
      assert.equal(fault?.field, 'cronTimezone');
      assert.match(fault.message, /is not a time zone of the IANA database/);
    });
  }

  it('a typo gets a proposal', () => {
    const { fault } = parseTimetable({
      cronExpression: '0 0 * * *',
      cronTimezone: 'Europe/Berln',
      createdAt,
    });
    assert.match(fault?.message ?? '', /Did you mean Europe\/Berlin\?/);
  });

  it('UTC has the ticks of its alias', () => {
    for (const expression of ['0 0 0 L * ?', '*/7 * * * *', '0 0 0 15W * ?']) {
      assert.deepEqual(
        list(expression, 'UTC', '2026-01-01', 50),
        list(expression, 'Etc/UTC', '2026-01-01', 50),
      );
    }
  });
});

describe('intervals', () => {
  const from = new Date('2026-01-01T10:15:00Z');
  const to = new Date('2026-03-01');

  it('start one interval after the creation, at a whole second', () => {
    const timetable = parse({
      intervalExpression: { interval: 90, unit: 'minutes' },
      createdAt: new Date('2026-01-01T10:00:00.789Z'),
    });
    assert.deepEqual(listTicks(timetable, from, to, 2).map(write), ['2026-01-01 11:30', '2026-01-01 13:00']);
  });

  it('start at effectiveFrom', () => {
    const about = {
      intervalExpression: { interval: 1, unit: 'Day' },
      effectiveFrom: new Date('2026-02-01T06:00:00Z'),
    };
    const ticks = ['2026-02-01 06:00', '2026-02-02 06:00'];
    assert.deepEqual(listTicks(parse(about), from, to, 2).map(write), ticks);
  });

  it('are elapsed time across a change of the clocks', () => {
    const timetable = parse({
      intervalExpression: { interval: 1, unit: 'DAYS' },
      cronTimezone: 'Europe/Berlin',
      effectiveFrom: new Date('2026-03-28T01:30:00Z'),
    });
    assert.deepEqual(listTicks(timetable, from, new Date('2026-04-01'), 2).map(write), [
      '2026-03-28 01:30',
      '2026-03-29 01:30',
    ]);
  });

  it('keep their phase before effectiveFrom for a backfill', () => {
    const timetable = parse({
      intervalExpression: { interval: 1, unit: 'WEEKS' },
      effectiveFrom: new Date('2026-01-15T06:00:00Z'),
    });
    assert.deepEqual(listTicks(ignoreStart(timetable), new Date('2026-01-01'), to, 3).map(write), [
      '2026-01-01 06:00',
      '2026-01-08 06:00',
      '2026-01-15 06:00',
    ]);
  });

  for (const [interval, unit, message] of [
    [0, 'HOURS', /interval 0 is not a whole number from 1 to 87648 \(HOURS\)/],
    [1.5, 'HOURS', /interval 1.5/],
    [-1, 'DAYS', /interval -1/],
    [1e9, 'DAYS', /from 1 to 3652 \(DAYS\)/],
    [1, 'MONTHS', /unit "MONTHS" is not one of SECONDS, MINUTES, HOURS, DAYS, WEEKS.*cron expression/],
    [1, '', /unit "" is not/],
  ] as const) {
    it(`${interval} ${unit} is refused`, () => {
      const { fault } = parseTimetable({
        intervalExpression: { interval, unit },
        cronTimezone: 'UTC',
        createdAt,
      });
      assert.equal(fault?.field, 'intervalExpression');
      assert.match(fault.message, message);
    });
  }
});

describe('effectiveFrom', () => {
  it('is the first tick if the expression matches it', () => {
    const timetable = parse({
      cronExpression: '0 0 * * *',
      effectiveFrom: new Date('2026-02-01T00:00:00Z'),
    });
    assert.equal(nextTickAfter(timetable, new Date('2026-01-01'))?.toISOString(), '2026-02-01T00:00:00.000Z');
    assert.equal(nextTickAfter(timetable, new Date('2026-02-01'))?.toISOString(), '2026-02-02T00:00:00.000Z');
  });
});
