import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOutputTurns } from './output-turns.ts';

test('outputs are printed one after the other, in the order of their creation; the first one at once', () => {
  let printed = '';
  const createTurn = createOutputTurns((text) => {
    printed += text;
  });
  const [one, two, three] = [createTurn(), createTurn(), createTurn()];
  two.write('c');
  one.write('a');
  assert.equal(printed, 'a');
  three.write('e');
  three.end();
  one.write('b');
  one.end();
  assert.equal(printed, 'abc');
  two.write('d');
  assert.equal(printed, 'abcd');
  two.end();
  assert.equal(printed, 'abcde');
});
