import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assetNameFault, requireNoFileAsFolder, sameNameKey } from './asset-name.ts';

test('ordinary names are paths', () => {
  for (const name of [
    'a',
    'a/b.txt',
    'Load it.orch.yaml',
    '.gitignore',
    'a.git/b',
    '...',
    'ü/日本',
    'x'.repeat(1_024),
  ]) {
    assert.equal(assetNameFault(name), undefined, name);
  }
});

test('names that are dangerous or ambiguous to unpack are none', () => {
  const names = [
    '',
    '/a',
    '//a',
    'c:a',
    'C:\\a',
    '..',
    '../a',
    'a/..',
    './a',
    'a/./b',
    'a//b',
    'a/',
    'a\\b',
    'a\0',
    'a\n',
    '\u009f',
    '\ud800',
    'é'.repeat(513),
  ];
  for (const name of names) assert.equal(typeof assetNameFault(name), 'string', JSON.stringify(name));
});

test('names that some file systems cannot tell apart have one key', () => {
  assert.equal(sameNameKey('cafe\u0301'), sameNameKey('caf\u00e9'));
  assert.notEqual(sameNameKey('cafe'), sameNameKey('café'));
});

test('a file that is also a folder is found among very many deep names, in whatever order they come', {
  timeout: 10_000,
}, () => {
  const names = Array.from({ length: 10_000 }, (_, index) => `${'a/'.repeat(500)}${index}`);
  requireNoFileAsFolder(names);
  const folder = names[5_000] ?? '';
  assert.throws(
    () => requireNoFileAsFolder([`${folder}/b`, ...names]),
    /5000\/b" cannot be stored: the part/,
  );
});
