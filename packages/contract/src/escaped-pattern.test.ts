import assert from 'node:assert/strict';
import { test } from 'node:test';
import { escapedPattern } from './escaped-pattern.ts';

test('text in a pattern matches only itself', () => {
  const pattern = escapedPattern('u')`^\w+ ${'a.b|(c]*'} \w+$`;
  assert.ok(pattern.test('of a.b|(c]* here'));
  assert.ok(!pattern.test('of axb here'));
  assert.equal(pattern.flags, 'u');
});

test('text cannot leave a class of characters, nor join a number before it', () => {
  assert.ok(!escapedPattern('')`^[${']|.*['}]$`.test('x'));
  assert.ok(escapedPattern('')`^(a)\1${'0'}$`.test('aa0'));
});
