import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearestName } from './nearest-name.ts';

const components = ['sql', 'sql-script', 'print-variables', 'table-input', 'table-output', 'join', 'rank'];

test('a letter too many, too few, replaced or swapped leads to the name that was meant', () => {
  assert.equal(nearestName('sql-scrippt', components), 'sql-script');
  assert.equal(nearestName('sql-scrpt', components), 'sql-script');
  assert.equal(nearestName('sql-skript', components), 'sql-script');
  assert.equal(nearestName('sql-scritp', components), 'sql-script');
});

test('upper and lower case are equal, and the name is answered as it is known', () => {
  assert.equal(nearestName('ENVIROMENTNAME', ['environmentName', 'versionName']), 'environmentName');
  assert.equal(nearestName('environmentname', ['environmentName']), 'environmentName');
});

test('two swapped letters are one edit, so they are near even in a name of three letters', () => {
  assert.equal(nearestName('gpc', ['aws', 'azure', 'gcp']), 'gcp');
  assert.equal(nearestName('xyz', ['aws', 'azure', 'gcp']), undefined);
});

test('two edits are near in a short name, a third of the letters in a long one', () => {
  assert.equal(nearestName('jain', ['join']), 'join');
  assert.equal(nearestName('joining', ['join']), undefined);
  assert.equal(nearestName('print-variabel-namez', ['print-variable-names']), 'print-variable-names');
  assert.equal(nearestName('prnt-varables', components), 'print-variables');
  assert.equal(nearestName('completely-else', components), undefined);
});

test('of several names the nearest is answered; equally near ones give none', () => {
  assert.equal(nearestName('table-inputt', components), 'table-input');
  assert.equal(nearestName('ran', ['rang', 'rant']), undefined);
  assert.equal(nearestName('rant', ['rang', 'rant']), 'rant');
  assert.equal(nearestName('rant', ['rang', 'rank', 'rant']), 'rant');
  assert.equal(nearestName('jion', ['join', 'join']), 'join');
});

test('nothing is near to an empty name, to no names, and to a text that is too long for a name', () => {
  assert.equal(nearestName('', components), undefined);
  assert.equal(nearestName('join', []), undefined);
  assert.equal(nearestName('j'.repeat(100_000), ['j'.repeat(100_000)]), undefined);
});

/** The definition, by recursion: edits of the prefixes of both. */
function definition(one: string, other: string): number {
  const memo = new Map<string, number>();
  const of = (row: number, column: number): number => {
    const key = `${row},${column}`;
    const retained = memo.get(key);
    if (retained !== undefined) return retained;
    const choices: number[] = row + column === 0 ? [0] : [];
    if (row > 0) choices.push(of(row - 1, column) + 1);
    if (column > 0) choices.push(of(row, column - 1) + 1);
    if (row > 0 && column > 0)
      choices.push(of(row - 1, column - 1) + (one[row - 1] === other[column - 1] ? 0 : 1));
    if (row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1])
      choices.push(of(row - 2, column - 2) + 1);
    const least = Math.min(...choices);
    memo.set(key, least);
    return least;
  };
  return of(one.length, other.length);
}

test('for all words of four letters over an alphabet of two it agrees with the definition', () => {
  const words = Array.from({ length: 16 }, (_, bits) =>
    [3, 2, 1, 0].map((place) => ((bits >> place) & 1 ? 'a' : 'b')).join(''),
  );
  for (const one of words)
    for (const other of words)
      assert.equal(nearestName(one, [other]) !== undefined, definition(one, other) <= 2, `${one} ${other}`);
});

test('names of a tenant cannot make a proposal long', () => {
  const names = Array.from({ length: 10_000 }, (_, index) => `${'ab'.repeat(29)}${index}`);
  const input = 'ba'.repeat(31);
  nearestName(input, names.slice(0, 500));
  const began = process.threadCpuUsage();
  nearestName(input, names);
  const milliseconds = process.threadCpuUsage(began).user / 1_000;
  assert.ok(milliseconds < 100, `${milliseconds} ms`);
  // Names that cannot be near cost nothing, so the near one is found behind them.
  assert.equal(nearestName('mian', [...names, 'main']), 'main');
});
