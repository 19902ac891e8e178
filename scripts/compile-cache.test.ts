import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { openCompileCache } from './compile-cache.ts';

let folder: string;
let lasting: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-compile-cache-'));
  lasting = join(folder, 'lasting', 'v24-0');
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (at: string, name: string, text: string) => writeFileSync(join(at, name), text);

test('a run has what earlier runs compiled, and keeps what it compiles', () => {
  mkdirSync(lasting, { recursive: true });
  write(lasting, 'old', 'old');
  write(lasting, 'changed', 'before');
  const cache = openCompileCache(join(folder, 'run'), lasting);
  const own = join(cache.path, 'v24-0');
  assert.equal(readFileSync(join(own, 'old'), 'utf8'), 'old');
  write(own, 'new', 'new');
  write(own, 'changed', 'after');
  cache.save();
  assert.deepEqual(readdirSync(lasting).toSorted(), ['changed', 'new', 'old']);
  assert.equal(readFileSync(join(lasting, 'changed'), 'utf8'), 'after');
});

test('what too many runs have compiled is removed', () => {
  const cache = openCompileCache(join(folder, 'run'), lasting, 2);
  for (const name of ['1', '2']) write(join(cache.path, 'v24-0'), name, '');
  cache.save();
  assert.equal(readdirSync(lasting).length, 2);
  write(join(cache.path, 'v24-0'), '3', '');
  cache.save();
  assert.equal(existsSync(lasting), false);
});

test('without a folder that lasts, a run has its own', () => {
  const cache = openCompileCache(join(folder, 'run'), undefined);
  assert.ok(existsSync(cache.path));
  cache.save();
});
