import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  findTicklessFault,
  ignoreStart,
  listTicks,
  nextTickAfter,
  parseTimetable,
  type Timetable,
  type TimetableInput,
} from './timetable.ts';

const createdAt = new Date('2026-01-01T00:00:00Z');

function parse(input: Partial<TimetableInput>): Timetable {
  const { timetable, fault } = parseTimetable({ cronTimezone: 'UTC', createdAt, ...input });
  assert.ok(timetable !== undefined, fault?.message);
  return timetable;
}

/** The first ticks from a time on, in UTC to the minute, or to the second if it has seconds. */
function list(expression: string, zone: string, from: string, count: number): string[] {
  const timetable = parse({ cronExpression: expression, cronTimezone: zone });
  return listTicks(timetable, new Date(from), new Date('2200-01-01'), count).map(write);
}

function write(tick: Date): string {
  return tick
    .toISOString()
    .replace('T', ' ')
    .replace(/(:00)?\.000Z$/, '');
}

interface Case {
  what: string;
  expression: string;
  zone?: string;
  from: string;
  ticks: string[];
}

const cases: Case[] = [
  {
    what: 'five fields have no seconds',
    expression: '30 2 * * *',
    from: '2026-01-01T03:00:00Z',
    ticks: ['2026-01-02 02:30', '2026-01-03 02:30'],
  },
  {
    what: 'six fields start with seconds',
    expression: '15/20 30 2 * * ?',
    from: '2026-01-01',
    ticks: ['2026-01-01 02:30:15', '2026-01-01 02:30:35', '2026-01-01 02:30:55', '2026-01-02 02:30:15'],
  },
  {
    what: 'a step from a value goes to the end of the field',
    expression: '0 0/30 22/1 * * ?',
    from: '2026-01-01',
    ticks: [
      '2026-01-01 22:00',
      '2026-01-01 22:30',
      '2026-01-01 23:00',
      '2026-01-01 23:30',
      '2026-01-02 22:00',
    ],
  },
  {
    what: 'Sunday is 1 in six fields',
    expression: '0 0 0 ? * 1',
    from: '2026-01-01',
    ticks: ['2026-01-04 00:00', '2026-01-11 00:00'],
  },
  {
    what: 'Saturday is 7 in six fields',
    expression: '0 0 0 ? * 7',
    from: '2026-01-01',
    ticks: ['2026-01-03 00:00', '2026-01-10 00:00'],
  },
  {
    what: 'Sunday is 0 in five fields',
    expression: '0 0 * * 0',
    from: '2026-01-01',
    ticks: ['2026-01-04 00:00', '2026-01-11 00:00'],
  },
  {
    what: 'Sunday is 7 too in five fields',
    expression: '0 0 * * 7',
    from: '2026-01-01',
    ticks: ['2026-01-04 00:00', '2026-01-11 00:00'],
  },
  {
    what: 'names mean the same in both formats, in any case',
    expression: '0 0 * jan,Mar sun',
    from: '2026-01-20',
    ticks: ['2026-01-25 00:00', '2026-03-01 00:00'],
  },
  {
    what: 'a range of days of the week wraps',
    expression: '0 0 0 ? * FRI-MON',
    from: '2026-01-01',
    ticks: [
      '2026-01-02 00:00',
      '2026-01-03 00:00',
      '2026-01-04 00:00',
      '2026-01-05 00:00',
      '2026-01-09 00:00',
    ],
  },
  {
    what: '5-7 in five fields is Friday to Sunday',
    expression: '0 0 * * 5-7',
    from: '2026-01-01',
    ticks: ['2026-01-02 00:00', '2026-01-03 00:00', '2026-01-04 00:00', '2026-01-09 00:00'],
  },
  {
    what: 'a step in a range that wraps',
    expression: '0 0 22-4/3 * * ?',
    from: '2026-01-01T12:00:00Z',
    ticks: ['2026-01-01 22:00', '2026-01-02 01:00', '2026-01-02 04:00', '2026-01-02 22:00'],
  },
  {
    what: 'months wrap',
    expression: '0 0 0 1 NOV-FEB ?',
    from: '2026-02-02',
    ticks: [
      '2026-11-01 00:00',
      '2026-12-01 00:00',
      '2027-01-01 00:00',
      '2027-02-01 00:00',
      '2027-11-01 00:00',
    ],
  },
  {
    what: 'two day fields mean either in five fields',
    expression: '0 0 13 * FRI',
    from: '2026-01-01',
    ticks: ['2026-01-02 00:00', '2026-01-09 00:00', '2026-01-13 00:00', '2026-01-16 00:00'],
  },
  {
    what: 'the 31st skips short months',
    expression: '0 0 0 31 * ?',
    from: '2026-01-01',
    ticks: ['2026-01-31 00:00', '2026-03-31 00:00', '2026-05-31 00:00', '2026-07-31 00:00'],
  },
  {
    what: 'L is the last day of the month',
    expression: '0 0 0 L * ?',
    from: '2028-01-15',
    ticks: ['2028-01-31 00:00', '2028-02-29 00:00', '2028-03-31 00:00', '2028-04-30 00:00'],
  },
  {
    what: 'L-3 is three days before the last day',
    expression: '0 0 0 L-3 * ?',
    from: '2028-01-01',
    ticks: ['2028-01-28 00:00', '2028-02-26 00:00', '2028-03-28 00:00', '2028-04-27 00:00'],
  },
  {
    what: 'L-3 in February of common and leap years',
    expression: '0 0 0 L-3 2 ? 2027-2028',
    from: '2026-01-01',
    ticks: ['2027-02-25 00:00', '2028-02-26 00:00'],
  },
  {
    what: 'L-29 skips months that are too short',
    expression: '0 0 0 L-29 2,4 ?',
    from: '2026-01-01',
    ticks: ['2026-04-01 00:00', '2027-04-01 00:00'],
  },
  {
    what: 'L-3W is the weekday nearest to three days before the last day',
    expression: '0 0 0 L-3W * ?',
    from: '2026-03-01',
    ticks: ['2026-03-27 00:00', '2026-04-27 00:00', '2026-05-28 00:00', '2026-06-26 00:00'],
  },
  {
    what: 'LW is the last weekday of the month',
    expression: '0 0 0 LW * ?',
    from: '2026-01-01',
    ticks: ['2026-01-30 00:00', '2026-02-27 00:00', '2026-03-31 00:00'],
  },
  {
    what: '15W is the weekday nearest to the 15th',
    expression: '0 0 0 15W * ?',
    from: '2026-02-01',
    ticks: [
      '2026-02-16 00:00',
      '2026-03-16 00:00',
      '2026-04-15 00:00',
      '2026-05-15 00:00',
      '2026-06-15 00:00',
    ],
  },
  {
    what: '1W does not leave its month',
    expression: '0 0 0 1W 8 ?',
    from: '2026-01-01',
    ticks: ['2026-08-03 00:00', '2027-08-02 00:00'],
  },
  {
    what: 'days from both ends of the month in one list',
    expression: '0 0 0 1,L-1,LW * ?',
    from: '2026-01-15',
    ticks: [
      '2026-01-30 00:00',
      '2026-02-01 00:00',
      '2026-02-27 00:00',
      '2026-03-01 00:00',
      '2026-03-30 00:00',
    ],
  },
  {
    what: '6L is the last Friday of the month in six fields',
    expression: '0 0 0 ? * 6L',
    from: '2026-01-01',
    ticks: ['2026-01-30 00:00', '2026-02-27 00:00'],
  },
  {
    what: '5L and FRIL are the last Friday in five fields',
    expression: '0 0 * * FRIL',
    from: '2026-01-01',
    ticks: ['2026-01-30 00:00', '2026-02-27 00:00'],
  },
  {
    what: 'L alone is Saturday',
    expression: '0 0 0 ? * L',
    from: '2026-01-01',
    ticks: ['2026-01-03 00:00', '2026-01-10 00:00'],
  },
  {
    what: '6#5 is the fifth Friday, where there is one',
    expression: '0 0 0 ? * 6#5',
    from: '2026-01-01',
    ticks: ['2026-01-30 00:00', '2026-05-29 00:00', '2026-07-31 00:00'],
  },
  {
    what: 'several nth days',
    expression: '0 0 0 ? * MON#1,WED#3',
    from: '2026-01-01',
    ticks: ['2026-01-05 00:00', '2026-01-21 00:00', '2026-02-02 00:00'],
  },
  {
    what: '29 February comes in leap years',
    expression: '0 0 0 29 2 ?',
    from: '2026-01-01',
    ticks: ['2028-02-29 00:00', '2032-02-29 00:00'],
  },
  {
    what: 'the year field',
    expression: '0 0 0 1 1 ? 2027,2030/2',
    from: '2026-01-01',
    ticks: ['2027-01-01 00:00', '2030-01-01 00:00', '2032-01-01 00:00'],
  },
  {
    what: 'Berlin, spring: a fixed time in the gap runs right after it',
    expression: '0 30 2 * * ?',
    zone: 'Europe/Berlin',
    from: '2026-03-28',
    ticks: ['2026-03-28 01:30', '2026-03-29 01:00', '2026-03-30 00:30'],
  },
  {
    what: 'Berlin, autumn: a fixed time that happens twice runs at the first',
    expression: '0 30 2 * * ?',
    zone: 'Europe/Berlin',
    from: '2026-10-24',
    ticks: ['2026-10-24 00:30', '2026-10-25 00:30', '2026-10-26 01:30'],
  },
  {
    what: 'Berlin, spring: a list skips its time in the gap',
    expression: '0 30 1,2 * * ?',
    zone: 'Europe/Berlin',
    from: '2026-03-28T12:00:00Z',
    ticks: ['2026-03-29 00:30', '2026-03-29 23:30', '2026-03-30 00:30'],
  },
  {
    what: 'Berlin, autumn: an hourly expression runs on both passes',
    expression: '0 0 * * * ?',
    zone: 'Europe/Berlin',
    from: '2026-10-24T23:00:00Z',
    ticks: ['2026-10-24 23:00', '2026-10-25 00:00', '2026-10-25 01:00', '2026-10-25 02:00'],
  },
  {
    what: 'New York, spring',
    expression: '30 2 * * *',
    zone: 'America/New_York',
    from: '2026-03-07',
    ticks: ['2026-03-07 07:30', '2026-03-08 07:00', '2026-03-09 06:30'],
  },
  {
    what: 'New York, autumn: every half hour, on both passes',
    expression: '*/30 1 * * *',
    zone: 'America/New_York',
    from: '2026-11-01',
    ticks: [
      '2026-11-01 05:00',
      '2026-11-01 05:30',
      '2026-11-01 06:00',
      '2026-11-01 06:30',
      '2026-11-02 06:00',
    ],
  },
  {
    what: 'Lord Howe, spring: a gap of half an hour',
    expression: '0 15 2 * * ?',
    zone: 'Australia/Lord_Howe',
    from: '2026-10-03',
    ticks: ['2026-10-03 15:30', '2026-10-04 15:15'],
  },
  {
    what: 'Lord Howe, autumn: an overlap of half an hour',
    expression: '0 45 1 * * ?',
    zone: 'Australia/Lord_Howe',
    from: '2026-04-04',
    ticks: ['2026-04-04 14:45', '2026-04-05 15:15'],
  },
  {
    what: 'São Paulo: midnight does not exist on a day of 2017',
    expression: '0 0 0 * * ?',
    zone: 'America/Sao_Paulo',
    from: '2017-10-14',
    ticks: ['2017-10-14 03:00', '2017-10-15 03:00', '2017-10-16 02:00'],
  },
  {
    what: 'Apia: 30 December 2011 does not exist',
    expression: '0 0 12 * * ?',
    zone: 'Pacific/Apia',
    from: '2011-12-29',
    ticks: ['2011-12-29 22:00', '2011-12-30 22:00', '2011-12-31 22:00'],
  },
  {
    what: 'Kathmandu: an offset of 5 hours 45 minutes',
    expression: '0 0 6 1 * ?',
    zone: 'Asia/Kathmandu',
    from: '2026-01-01T12:00:00Z',
    ticks: ['2026-02-01 00:15', '2026-03-01 00:15'],
  },
];

describe('cron expressions', () => {
  for (const { what, expression, zone = 'UTC', from, ticks } of cases) {
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

describe('cost', () => {
  it('10,000 schedules of one expression share its search', () => {
    const at = new Date('2026-06-01T12:00:00Z');
    const began = performance.now();
    for (let count = 0; count < 10_000; count++) {
      nextTickAfter(parse({ cronExpression: '0 */5 * * * ?', cronTimezone: 'Europe/Berlin' }), at);
    }
    assert.ok(performance.now() - began < 1000);
  });

  it('an expression of 255 characters is bounded', () => {
    const list = (count: number) => Array.from({ length: count }, (_, index) => index).join(',');
    for (const cronExpression of [
      `${list(60)} ${list(15)} 0 29 2 ? 2097,2098,2099`,
      `0 0 0 ${Array.from({ length: 30 }, (_, index) => `L-${index + 1}W`).join(',')} 2 ?`,
      `0 0 0 ? 2 ${Array.from({ length: 7 }, (_, index) => `${index + 1}#5`).join(',')} 2025/2`,
      '0 15,30 2 29 3 ? 2026/7',
    ]) {
      const began = performance.now();
      listTicks(
        parse({ cronExpression, cronTimezone: 'Europe/Berlin' }),
        new Date('2026-01-01'),
        new Date('2100-01-01'),
        100,
      );
      assert.ok(
        performance.now() - began < 1000,
        `${cronExpression}: ${Math.round(performance.now() - began)} ms`,
      );
    }
  });
});
