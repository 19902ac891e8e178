// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitTemplate, TemplateError, unwrapExpression } from './template.ts';

test('a slash begins a regular expression after an operator or a word, and divides after an operand', () => {
  for (const expression of ["a / b / '}'", 'return /}/', '(/[/}]/)', 'x => /}/', 'b.return / 2', 'a   / b'])
    assert.deepEqual(splitTemplate(`\${${expression}}`), [{ expression }]);
});

test('texts with expressions keep their place', () => {
  assert.equal(
    unwrapExpression('"a${b}" + c + \'d${"}"}e\' + ${f}'),
    '("a" + String(b\n) + "") + c + (\'d\' + String("}"\n) + \'e\') + (f\n)',
  );
});

test('hostile expressions are read at once', () => {
  for (const part of ['a/', 'a /', '(/[', '/', '{', '`${'])
    try {
      splitTemplate(`\${${part.repeat(100_000)}`);
    } catch (error) {
      assert.ok(error instanceof TemplateError);
    }
  assert.ok(unwrapExpression('"${a}" '.repeat(100_000)).length > 1_000_000);
});
