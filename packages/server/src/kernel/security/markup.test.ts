import assert from 'node:assert/strict';
import { test } from 'node:test';
import { removeMarkup } from './markup.ts';

test('tags become spaces, scripts and styles with their content', () => {
  const pages: [string, string][] = [
    ['<h1>Not found</h1>', ' Not found '],
    ['a<script src="x">let b = 1 < 2;</SCRIPT>c', 'a c'],
    ['<style>p { color: red }</style><p>x', '  x'],
    ['a <scripted> b', 'a   b'],
    ['<b\nclass="x">', ' '],
  ];
  for (const [page, expected] of pages) assert.equal(removeMarkup(page), expected);
});

test('what is not closed stays, and what follows it is read', () => {
  const pages: [string, string][] = [
    ['1 < 2', '1 < 2'],
    ['<script>a', ' a'],
    ['<script>a<b>c', ' a c'],
    ['<style><script>a</script>b', '  b'],
    [`<${'x'.repeat(1_001)}><b>y`, `<${'x'.repeat(1_001)}> y`],
    [`<${'x'.repeat(1_000)}>y`, ' y'],
    ['a <', 'a <'],
  ];
  for (const [page, expected] of pages) assert.equal(removeMarkup(page), expected);
});
