import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { canonicalManifest } from '@headgate/contract';
import { buildManifest, type ManifestFile } from './manifest.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const buildFiles = (count: number): ManifestFile[] =>
  Array.from({ length: count }, (_, index) => ({
    path: `folder ${index % 7}/a file ${index}.sql`,
    sha256: sha256(`${index}`),
    size: index,
  }));
const listDigests = (files: ManifestFile[]) =>
  new Set(buildManifest(files).chunks.map((chunk) => chunk.digest));

test('chunks contain the files sorted by path; each digest is that of its part of the canonical form', () => {
  const files = buildFiles(1_000);
  const manifest = buildManifest(files.toReversed());
  assert.equal(manifest.digest, sha256(canonicalManifest(files)));
  assert.deepEqual(
    manifest.chunks.flatMap((chunk) => chunk.files),
    files.toSorted((one, other) => (one.path < other.path ? -1 : 1)),
  );
  for (const chunk of manifest.chunks) {
    assert.equal(chunk.digest, sha256(canonicalManifest(chunk.files)));
    assert.ok(chunk.files.length <= 256);
  }
  assert.ok(manifest.chunks.length > 5 && manifest.chunks.length < 50, `${manifest.chunks.length} chunks`);
});

test('adding, removing or changing a file changes one or two chunks', () => {
  const before = listDigests(buildFiles(2_000));
  const others = (files: ManifestFile[]) =>
    [...listDigests(files)].filter((digest) => !before.has(digest)).length;
  const changed = buildFiles(2_000);
  for (const [index, file] of [...changed.entries()].filter(([index]) => index % 97 === 0)) {
    assert.equal(others(changed.with(index, { ...file, sha256: sha256('changed') })), 1);
    const less = others(changed.toSpliced(index, 1));
    assert.ok(less <= 2, `${less} without ${file.path}`);
    const more = others([...changed, { ...file, path: `${file.path}.new` }]);
    assert.ok(more === 1 || more === 2, `${more} with ${file.path}.new`);
  }
});

test('without files there are no chunks', () => {
  assert.deepEqual(buildManifest([]), { digest: sha256(''), files: [], chunks: [] });
});
