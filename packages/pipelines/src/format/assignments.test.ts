import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assignedVariable } from './assignments.ts';

const find = (code: string) => assignedVariable(code, (name) => ['n', 'rows', '$v'].includes(name));

describe('an expression assigns to a variable', () => {
  for (const code of [
    'n = 1',
    '1 > (n) = 2',
    'n += 1',
    'n++',
    '-- n',
    'rows.length = 0',
    'rows[0].a[n] ??= 1',
    'x == 1 && n = 2',
    'letn; n = 1',
    `"it's" + (n = 'a')`,
    '$v\n = 1',
  ])
    it(code, () => assert.notEqual(find(code), undefined));
});

describe('an expression assigns to no variable', () => {
  for (const code of [
    'n == 1',
    'n === 1',
    'n => 1',
    'n <= 1',
    'let n = 1',
    'const  n = 1',
    'a.n = 1',
    'm = n',
    '"n = 1"',
    "'\\'n = 1'",
    '`n = 1`',
    '...n',
  ])
    it(code, () => assert.equal(find(code), undefined));
});

it('hostile expressions are read at once', () => {
  for (const part of ["'\\", 'v[v', 'n[0]', 'n ', 'let ', 'n))', '"', 'n.', '[[', '++ '])
    assert.equal(find(part.repeat(300_000)), undefined, part);
});
