import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findAssetNameFault, normalizeName, requireNoFileAsFolder } from './asset-name.ts';

test('ordinary names are accepted', () => {
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
    assert.equal(findAssetNameFault(name), undefined, name);
  }
});

test('names that are dangerous or ambiguous to unpack are refused', () => {
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
  for (const name of names) assert.equal(typeof findAssetNameFault(name), 'string', JSON.stringify(name));
});

test('names that some file systems treat as equal are normalized to one', () => {
  assert.equal(normalizeName('cafe\u0301'), normalizeName('caf\u00e9'));
  assert.notEqual(normalizeName('cafe'), normalizeName('café'));
});

test('a file that is also a folder is found among many deep names in any order', () => {
  const began = process.threadCpuUsage();
  const names = Array.from({ length: 10_000 }, (_, index) => `${'a/'.repeat(500)}${index}`);
  requireNoFileAsFolder(names);
  const folder = names[5_000] ?? '';
  assert.throws(
    () => requireNoFileAsFolder([`${folder}/b`, ...names]),
    /5000\/b" cannot be stored: the part/,
  );
  assert.ok(process.threadCpuUsage(began).user < 60_000_000);
});
