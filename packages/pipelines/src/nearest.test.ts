import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSuggestions, nearestName } from './nearest.ts';

describe('nearestName', () => {
  const names = ['sql-script', 'run-orchestration', 'Load it', 'or', 'Größe'];
  const cases: [wanted: string, nearest: string | undefined][] = [
    ['sql-scrip', 'sql-script'],
    ['sqlscript', 'sql-script'],
    ['SQL-SCRIPT', 'sql-script'],
    ['sql-scirpt', 'sql-script'],
    ['run-orchestrations', 'run-orchestration'],
    ['load it', 'Load it'],
    ['grösse', 'Größe'],
    ['xo', undefined],
    ['salesforce-query', undefined],
    ['', undefined],
    ['sql-script', undefined],
  ];
  for (const [wanted, nearest] of cases) {
    it(`of "${wanted}" is ${nearest}`, () => assert.equal(nearestName(wanted, names), nearest));
  }

  it('is the one with the fewest mistakes', () => {
    assert.equal(
      nearestName('Monthly repot', ['Monthly resort', 'Monthly report', 'Monthly rapport']),
      'Monthly report',
    );
  });

  it('takes no time over long names', { timeout: 5_000 }, () => {
    const long = Array.from({ length: 10_000 }, (_, index) => `${'x'.repeat(250)}${index}`);
    const suggest = createSuggestions();
    for (let index = 0; index < 5_000; index += 1)
      assert.equal(suggest(`y${'x'.repeat(10_000)}`, long, 'otherwise'), 'otherwise');
  });
});
