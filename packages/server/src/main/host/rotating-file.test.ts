import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createRotatingFile } from './rotating-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-log-'));
after(() => rmSync(folder, { recursive: true }));

test('the file and its predecessor are limited in size, and only their owner can read them', async () => {
  const path = join(folder, 'server.log');
  const file = createRotatingFile(path, 1_000);
  const line = `${'x'.repeat(99)}\n`;
  for (let number = 0; number < 100; number++) await file.write(line);
  await file.close?.();
  assert.deepEqual(readdirSync(folder).toSorted(), ['server.log', 'server.log.1']);
  for (const name of ['server.log', 'server.log.1']) {
    const { size, mode } = statSync(join(folder, name));
    assert.ok(size <= 1_100, `${name}: ${size} bytes`);
    assert.equal(mode & 0o777, 0o600);
  }
});

test('a later start appends; a truncated line stays separate', async () => {
  const path = join(folder, 'cut.log');
  writeFileSync(path, 'whole\ncut o');
  const first = createRotatingFile(path, 1_000);
  await first.write('next\n');
  await first.write('last\n');
  await first.close?.();
  const second = createRotatingFile(path, 1_000);
  await second.write('again\n');
  await second.close?.();
  assert.equal(readFileSync(path, 'utf8'), 'whole\ncut o\nnext\nlast\nagain\n');
});

test('a write fails while the file cannot be opened, and works again afterwards', async () => {
  const place = join(folder, 'place');
  writeFileSync(place, '');
  const file = createRotatingFile(join(place, 'log'), 1_000);
  await assert.rejects(file.write('lost\n'), /ENOTDIR/);
  rmSync(place);
  await file.write('written\n');
  await file.close?.();
  assert.equal(readFileSync(join(place, 'log'), 'utf8'), 'written\n');
  chmodSync(folder, 0o700);
});
