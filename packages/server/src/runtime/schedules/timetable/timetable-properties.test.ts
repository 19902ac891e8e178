import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Cron } from 'croner';
import fc from 'fast-check';
import { parse } from '../../../../testing/timetable.ts';
import { listTicks, nextTickAfter } from './timetable.ts';

describe('properties', () => {
  const zone = fc.constantFrom(
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'Africa/Casablanca',
    'America/Santiago',
  );
  const at = fc.date({ min: new Date('2000-01-01'), max: new Date('2060-01-01'), noInvalidDate: true });
  const part = (least: number, most: number) => {
    const value = fc.integer({ min: least, max: most });
    return fc.oneof(
      fc.constant('*'),
      value.map(String),
      fc.tuple(value, value).map(([from, to]) => `${from}-${to}`),
      fc.tuple(value, fc.integer({ min: 1, max: most })).map(([from, step]) => `${from}/${step}`),
      fc.tuple(value, value).map(([one, other]) => `${one},${other}`),
    );
  };
  const days = fc.oneof(
    fc.tuple(
      fc.oneof(part(1, 28), fc.constantFrom('L', 'LW', 'L-2', 'L-4W', '15W', '1,L', '30')),
      fc.constant('?'),
    ),
    fc.tuple(fc.constant('?'), fc.oneof(part(1, 7), fc.constantFrom('6L', '2#1', 'MON-FRI', 'L', 'FRI#4'))),
  );
  const quartz = fc
    .tuple(part(0, 59), part(0, 59), part(0, 23), days, part(1, 12))
    .map(([seconds, minutes, hours, [dom, dow], month]) =>
      [seconds, minutes, hours, dom, month, dow].join(' '),
    );

  it('ticks increase, and nextTickAfter and listTicks agree', () => {
    fc.assert(
      fc.property(quartz, zone, at, (expression, cronTimezone, from) => {
        const timetable = parse({ cronExpression: expression, cronTimezone });
        const ticks = listTicks(timetable, from, new Date('2099-01-01'), 20);
        // Another timetable, so that no answer comes from the one before.
        const fresh = parse({ cronExpression: `${expression} *`, cronTimezone });
        for (const [index, tick] of ticks.entries()) {
          const before = ticks[index - 1] ?? new Date(from.getTime() - 1);
          assert.ok(tick > before);
          assert.deepEqual(nextTickAfter(fresh, new Date(tick.getTime() - 1)), tick);
          assert.deepEqual(
            nextTickAfter(fresh, new Date((before.getTime() + tick.getTime() - 1) / 2)),
            tick,
            `between ${before.toISOString()} and ${tick.toISOString()}`,
          );
          assert.deepEqual(nextTickAfter(fresh, before), tick);
        }
      }),
      { numRuns: 150 },
    );
  });

  it('the ticks in a zone are those of croner', () => {
    const time = (most: number) => {
      const value = fc.integer({ min: 0, max: most });
      const two = fc.uniqueArray(value, { minLength: 2, maxLength: 2 });
      return fc.oneof(
        fc.constant('*'),
        value.map(String),
        two.map((values) => values.join(',')),
      );
    };
    // Most changes of the clocks are between midnight and three.
    const expression = fc
      .tuple(time(59), time(59), fc.oneof(time(3), time(23)), fc.constantFrom('*', '1', '3', '4', '10', '11'))
      .map(([seconds, minutes, hours, month]) => `${seconds} ${minutes} ${hours} * ${month} *`);
    fc.assert(
      fc.property(expression, zone, at, (cronExpression, cronTimezone, from) => {
        const timetable = parse({ cronExpression, cronTimezone });
        const cron = new Cron(cronExpression, { timezone: cronTimezone, paused: true });
        let tick: Date | undefined = from;
        for (let count = 0; count < 10 && tick !== undefined; count++) {
          const expected = cron.nextRun(tick);
          tick = nextTickAfter(timetable, tick);
          assert.deepEqual(tick, expected ?? undefined);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('the chosen days are those of croner', () => {
    const number = (least: number, most: number) => fc.integer({ min: least, max: most });
    const dom = fc.oneof(
      fc.constantFrom('*', 'L', 'LW'),
      number(1, 31).map(String),
      number(1, 31).map((day) => `${day}W`),
      fc.tuple(number(1, 31), number(1, 31)).map(([one, other]) => `${one},${other}W,L`),
    );
    const dow = fc.oneof(
      fc.constant('*'),
      number(0, 6).map(String),
      number(0, 6).map((day) => `${day}L`),
      fc.tuple(number(0, 6), number(1, 5)).map(([day, nth]) => `${day}#${nth}`),
    );
    const months = fc.uniqueArray(number(1, 12), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(dom, months, dow, at, (dayOfMonth, month, dayOfWeek, from) => {
        const cronExpression = `0 2 ${dayOfMonth} ${month.join(',')} ${dayOfWeek}`;
        const timetable = parse({ cronExpression });
        const cron = new Cron(cronExpression.replace(/L$/, '#L'), { timezone: 'UTC', paused: true });
        let tick: Date | undefined = from;
        for (let count = 0; count < 20 && tick !== undefined && tick.getUTCFullYear() < 2090; count++) {
          const expected = cron.nextRun(tick);
          tick = nextTickAfter(timetable, tick);
          // croner ends its search sooner than the last year.
          if (expected !== null) assert.deepEqual(tick, expected);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('in UTC the ticks are the minutes whose parts match', () => {
    const numbers = (least: number, most: number) =>
      fc.uniqueArray(fc.integer({ min: least, max: most }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(numbers(0, 59), numbers(0, 23), numbers(0, 6), at, (minutes, hours, weekdays, from) => {
        const expression = `${minutes.join(',')} ${hours.join(',')} * * ${weekdays.join(',')}`;
        const start = Math.ceil(from.getTime() / 60_000) * 60_000;
        const end = start + 14 * 86_400_000;
        const expected: number[] = [];
        for (let time = start; time < end; time += 60_000) {
          const moment = new Date(time);
          const isTick =
            minutes.includes(moment.getUTCMinutes()) &&
            hours.includes(moment.getUTCHours()) &&
            weekdays.includes(moment.getUTCDay());
          if (isTick) expected.push(time);
        }
        const ticks = listTicks(parse({ cronExpression: expression }), from, new Date(end), 10_000);
        assert.deepEqual(
          ticks.map((tick) => tick.getTime()),
          expected,
        );
      }),
      { numRuns: 30 },
    );
  });
});

/** Milliseconds of processor time: other work of the machine does not count. */
function measureSince(began: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1_000;
}

describe('cost', () => {
  it('10,000 schedules of one expression share its search', () => {
    const at = new Date('2026-06-01T12:00:00Z');
    const began = process.cpuUsage();
    for (let count = 0; count < 10_000; count++) {
      nextTickAfter(parse({ cronExpression: '0 */5 * * * ?', cronTimezone: 'Europe/Berlin' }), at);
    }
    assert.ok(measureSince(began) < 1000);
  });

  it('no expression makes the search for a tick long', () => {
    const list = (count: number) => Array.from({ length: count }, (_, index) => index).join(',');
    const fromEnd = Array.from({ length: 30 }, (_, index) => `L-${index + 1}`);
    for (const cronExpression of [
      `${list(60)} ${list(15)} 0 29 2 ? 2097,2098,2099`,
      `0 0 0 ${fromEnd.map((day) => `${day}W`).join(',')} 2 ?`,
      `0 0 0 ? 2 ${Array.from({ length: 7 }, (_, index) => `${index + 1}#5`).join(',')} 2025/2`,
      '0 15,30 2 29 3 ? 2026/7',
      // Every year the last Sunday of March is the day of the gap, and this is the gap.
      '* * 2 ? 3 1L',
      // Days that never come.
      '0 0 0 30,31 2 ?',
      '0 0 0 31 2,4,6,9,11 ?',
      `0 0 L,${fromEnd.join(',')} * 1`,
    ]) {
      const timetable = parse({ cronExpression, cronTimezone: 'America/St_Johns' });
      const to = new Date('2100-01-01');
      // Reads the changes of the zone, which are kept.
      listTicks(timetable, new Date('1970-01-01'), to, 1);
      const began = process.cpuUsage();
      const ticks = listTicks(timetable, new Date('1970-01-01'), to, 1_000);
      const milliseconds = measureSince(began);
      assert.ok(milliseconds < 500, `${cronExpression}: ${milliseconds} ms for ${ticks.length} ticks`);
    }
  });
});
