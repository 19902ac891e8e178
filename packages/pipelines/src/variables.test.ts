import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createScope, projectVariable, setArguments, type Variable, VariableError } from './variables.ts';

const variable = (name: string, behaviour: 'SHARED' | 'COPIED', value: string | number = '') =>
  projectVariable({ name, type: typeof value === 'number' ? 'NUMBER' : 'TEXT', behaviour, value });
const grid = (): Variable =>
  projectVariable({
    name: 'g',
    type: 'GRID',
    behaviour: 'COPIED',
    value: { columns: [{ name: 'n', type: 'NUMBER' }], rows: [] },
  });

describe('scopes', () => {
  it('branches have SHARED variables in common and COPIED ones to themselves', () => {
    const scope = createScope([variable('shared', 'SHARED'), variable('copied', 'COPIED')]);
    const branch = scope.branch();
    branch.setScalar('shared', 'b');
    branch.setScalar('copied', 'b');
    assert.deepEqual([scope.get('shared')?.value, scope.get('copied')?.value], ['b', '']);
  });

  it("a called pipeline sees its own variables and the project's, not its caller's", () => {
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
    [() => scope.setScalar('n', 'abc'), /"n" is NUMBER: "abc" is no finite number/],
    [() => scope.setScalar('n', true), /no finite number/],
    [() => scope.setScalar('t', ['a']), /takes one value/],
    [() => scope.setScalar('g', 'x'), /is GRID: a scalar variable is needed/],
    [() => scope.setScalar('nope', 'x'), /no variable "nope": declare it/],
    [() => scope.setGrid('t', []), /is TEXT: a grid variable is needed/],
    [() => scope.setGrid('g', [['1', '2']]), /row 1 .* has 2 cells for 1 columns/],
    [() => scope.setGrid('g', [['x']]), /column "n" .* is NUMBER/],
    [
      () =>
        scope.setGrid(
          'g',
          Array.from({ length: 10_001 }, () => ['1']),
        ),
      /at most 10000 rows, not 10001/,
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

  it('a text takes a number, and an empty number is none', () => {
    scope.setScalar('t', 5);
    scope.setScalar('n', ' ');
    assert.deepEqual([scope.get('t')?.value, scope.get('n')?.value], ['5', null]);
  });
});
