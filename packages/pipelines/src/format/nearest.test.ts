import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { comparedNameLimit, createSuggestions, findNearestName } from './nearest.ts';

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
  for (const [expected, nearest] of cases) {
    it(`of "${expected}" is ${nearest}`, () => assert.equal(findNearestName(expected, names), nearest));
  }

  it('is the one with the fewest mistakes', () => {
    assert.equal(
      findNearestName('Monthly repot', ['Monthly resort', 'Monthly report', 'Monthly rapport']),
      'Monthly report',
    );
  });

  it('is fast for long names', () => {
    const began = process.threadCpuUsage();
    const long = Array.from({ length: 10_000 }, (_, index) => `${'x'.repeat(250)}${index}`);
    const suggest = createSuggestions();
    for (let index = 0; index < 5_000; index += 1)
      assert.equal(
        suggest(`y${'x'.repeat(10_000)}`, () => long, 'otherwise'),
        'otherwise',
      );
    assert.ok(process.threadCpuUsage(began).user < 5_000_000);
  });

  it('is undefined for a name of more than 64 characters', () => {
    const name = 'n'.repeat(63);
    assert.equal(findNearestName(`${name}m`, [`${name}n`]), `${name}n`);
    assert.equal(findNearestName(`${name}mm`, [`${name}nm`]), undefined);
  });

  it('counts a swapped, added, missing or different letter as one mistake', () => {
    const name = 'Load all customers of the day';
    for (let at = 0; at < name.length - 1; at += 1) {
      const [before, after] = [name.slice(0, at), name.slice(at + 1)];
      const exchanged = `${before}${name[at + 1]}${name[at]}${name.slice(at + 2)}`;
      for (const wrong of [`${before}${after}`, `${before}#${name[at]}${after}`, `${before}#${after}`])
        assert.equal(findNearestName(wrong, [name]), name);
      if (exchanged !== name) assert.equal(findNearestName(exchanged, ['Load', name]), name);
    }
    assert.equal(findNearestName('#oad all cu#tomers of th# day', [name]), name);
    assert.equal(findNearestName('#oad all cu#tomers of th# da#', [name]), undefined);
  });
});

describe('suggestions of one check', () => {
  it('compare a limited number of names', () => {
    let lists = 0;
    let compared = 0;
    function* names() {
      lists += 1;
      for (let index = 0; index < 10_000; index += 1) {
        compared += 1;
        yield `name ${index}`;
      }
    }
    const suggest = createSuggestions();
    for (let index = 0; index < 5_000; index += 1) suggest(`mistyped ${index}`, names, 'otherwise');
    assert.ok(lists <= 50, `${lists} lists`);
    assert.ok(compared <= comparedNameLimit + 50, `${compared} names`);
  });

  it('do not build the list of names for a name that is too long', () => {
    const suggest = createSuggestions();
    const names = () => assert.fail('no list is needed');
    assert.equal(suggest('n'.repeat(65), names, 'otherwise'), 'otherwise');
  });
});
