import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findStart, goBack } from './time-frame.ts';

const now = new Date('2026-03-31T12:00:00.000Z');

test('a duration leads back in time', () => {
  const cases: [string, string][] = [
    ['PT24H', '2026-03-30T12:00:00.000Z'],
    ['P7D', '2026-03-24T12:00:00.000Z'],
    ['P1W', '2026-03-24T12:00:00.000Z'],
    ['PT90M', '2026-03-31T10:30:00.000Z'],
    ['PT30S', '2026-03-31T11:59:30.000Z'],
    ['P1M', '2026-02-28T12:00:00.000Z'],
    ['P1Y', '2025-03-31T12:00:00.000Z'],
    ['P1Y2M3DT4H5M6S', '2025-01-28T07:54:54.000Z'],
    ['P9999Y', '1970-01-01T00:00:00.000Z'],
  ];
  for (const [duration, expected] of cases)
    assert.equal(goBack(now, duration).toISOString(), expected, duration);
});

test('the later of a time and a duration counts', () => {
  const early = '2026-01-01T00:00:00Z';
  const late = '2026-03-31T11:00:00Z';
  assert.equal(findStart({}, now), undefined);
  assert.equal(findStart({ startedAfter: early }, now), early);
  assert.equal(findStart({ startedAfter: early, timeFrame: 'P1D' }, now), '2026-03-30T12:00:00.000Z');
  assert.equal(findStart({ startedAfter: late, timeFrame: 'P1D' }, now), late);
});
