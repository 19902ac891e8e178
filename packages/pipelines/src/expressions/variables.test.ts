import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createProjectVariable,
  createScope,
  setArguments,
  type Variable,
  VariableError,
} from './variables.ts';

const variable = (name: string, behaviour: 'SHARED' | 'COPIED', value: string | number = '') =>
  createProjectVariable({ name, type: typeof value === 'number' ? 'NUMBER' : 'TEXT', behaviour, value });
const grid = (): Variable =>
  createProjectVariable({
    name: 'g',
    type: 'GRID',
    behaviour: 'COPIED',
    value: { columns: [{ name: 'n', type: 'NUMBER' }], rows: [] },
  });

describe('scopes', () => {
  it('branches share SHARED variables and have their own copies of COPIED ones', () => {
    const scope = createScope([variable('shared', 'SHARED'), variable('copied', 'COPIED')]);
    const branch = scope.branch();
    branch.setScalar('shared', 'b');
    branch.setScalar('copied', 'b');
    assert.deepEqual([scope.get('shared')?.value, scope.get('copied')?.value], ['b', '']);
  });

  it("a called pipeline sees its own variables and the project's, but not its caller's", () => {
    const project = createScope([variable('p', 'COPIED', 'project'), variable('a', 'SHARED', 'project')]);
    const caller = project.call([variable('a', 'COPIED', 'caller'), variable('c', 'COPIED')]);
    caller.setScalar('p', 'changed');
    const called = caller.call([]);
    assert.deepEqual(
      [called.get('a')?.value, called.get('p')?.value, called.get('c')],
      ['project', 'changed', undefined],
    );
  });
});

describe('values fit their variables', () => {
  const scope = createScope([variable('t', 'SHARED'), variable('n', 'SHARED', 1), grid()]);
  const refused: [() => void, RegExp][] = [
    [() => scope.setScalar('n', 'abc'), /"n" is NUMBER, but "abc" is not a finite number/],
    [() => scope.setScalar('n', true), /is not a finite number/],
    [() => scope.setScalar('t', ['a']), /takes a single value/],
    [() => scope.setScalar('g', 'x'), /is GRID, but a scalar variable is needed/],
    [() => scope.setScalar('nope', 'x'), /no variable "nope": declare it/],
    [() => scope.setGrid('t', []), /is TEXT, but a grid variable is needed/],
    [() => scope.setGrid('g', [['1', '2']]), /row 1 .* has 2 cells, but the grid has 1 columns/],
    [() => scope.setGrid('g', [['x']]), /column "n" .* is NUMBER/],
    [
      () =>
        scope.setGrid(
          'g',
          Array.from({ length: 10_001 }, () => ['1']),
        ),
      /10001 rows; the limit is 10000/,
    ],
    [
      () => setArguments(createScope([{ ...variable('t', 'SHARED'), settable: false }]), [['t', '']], []),
      /PRIVATE/,
    ],
  ];
  for (const [attempt, message] of refused) {
    it(message.source, () =>
      assert.throws(attempt, (error) => error instanceof VariableError && message.test(error.message)),
    );
  }

  it('a text variable accepts a number, and an empty text sets a number to null', () => {
    scope.setScalar('t', 5);
    scope.setScalar('n', ' ');
    assert.deepEqual([scope.get('t')?.value, scope.get('n')?.value], ['5', null]);
  });
});
