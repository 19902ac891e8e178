import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import manifest from '../package.json' with { type: 'json' };
import { commandOf, isPart, PARTS, type PartName, ROUND_TESTS, turns } from './soak-parts.ts';

const parts = Object.keys(PARTS) as PartName[];

/** The turns of a soak whose parts take as long as they may, or `slowness` times that. */
function turnsOf(totalSeconds: number, slowness = 1, chosen = parts) {
  let left = totalSeconds;
  const found: { part: PartName; seconds: number }[] = [];
  for (const turn of turns(chosen, totalSeconds, () => left)) {
    found.push(turn);
    left -= turn.seconds * slowness;
  }
  return found;
}

test('in one minute every part has one turn, and together they take the minute', () => {
  const found = turnsOf(60);
  assert.deepEqual(
    found.map(({ part }) => part),
    parts,
  );
  assert.equal(
    found.reduce((sum, { seconds }) => sum + seconds, 0),
    60,
  );
});

test('in an hour the parts take turns of some minutes', () => {
  const found = turnsOf(3_600);
  assert.ok(found.length >= 2 * parts.length);
  assert.ok(found.every(({ seconds }) => seconds <= 300));
  assert.equal(found[parts.length]?.part, parts[0]);
});

test('on a slow machine every part still has one turn, a short one', () => {
  const found = turnsOf(60, 10);
  assert.deepEqual(
    found.map(({ part }) => part),
    parts,
  );
  assert.ok(found.at(-1)?.seconds === 5);
});

test('one part alone has all the time', () => {
  assert.deepEqual(turnsOf(60, 1, ['rounds']), [{ part: 'rounds', seconds: 60 }]);
});

test('the command that repeats a part has its seed, and is an npm command', () => {
  for (const part of parts) {
    const { repeat } = commandOf(part, 15, 4_711);
    assert.match(repeat, /\b4711\b/, part);
    const [, name = ''] = /npm (?:run )?([a-z]+) --/.exec(repeat) ?? [];
    assert.ok(name in manifest.scripts, repeat);
  }
});

test('a part is known by its name only', () => {
  assert.equal(isPart('fuzz'), true);
  assert.equal(isPart('toString'), false);
});

const roundFiles = Object.keys(ROUND_TESTS);

test('a short turn of rounds has one file, which the seed chooses; a long one has all', () => {
  const filesOf = (seconds: number, seed: number) => commandOf('rounds', seconds, seed).args.slice(1);
  const short = roundFiles.map((_, seed) => filesOf(15, seed));
  assert.deepEqual(
    short,
    roundFiles.map((file) => [file]),
  );
  assert.deepEqual(filesOf(300, 1), roundFiles);
});

test('the rounds fit into the seconds of a turn, and there is one at least', () => {
  const roundsOf = (seconds: number, seed: number) =>
    Number(commandOf('rounds', seconds, seed).environment.TEST_ROUNDS);
  assert.equal(roundsOf(15, 0), 3);
  assert.equal(roundsOf(5, 1), 1);
  assert.equal(roundsOf(300, 0), 2);
});

test('the tests of rounds are all those that take TEST_ROUNDS, each named by a part of one path', () => {
  const all = globSync(['packages/*/{src,testing}/**/*.test.ts', 'test/**/*.test.ts']);
  const named = roundFiles.map((part) => all.filter((path) => path.includes(part)));
  for (const [index, found] of named.entries()) assert.equal(found.length, 1, roundFiles[index]);
  const taking = all.filter((path) => readFileSync(path, 'utf8').includes('/testing/rounds'));
  assert.deepEqual(named.flat().toSorted(), taking.toSorted());
});
