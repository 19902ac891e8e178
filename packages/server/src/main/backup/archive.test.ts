import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { type Member, readVerifiedMembers, type SealSums, verifyArchive, writeArchive } from './archive.ts';

const folder = await mkdtemp(join(tmpdir(), 'headgate-archive-'));
after(() => rm(folder, { recursive: true }));

const seal: SealSums = (sums) => `sealed ${sums.length}`;
const never = new AbortController().signal;
const contents: Member[] = [
  { name: 'backup.json', bytes: Buffer.from('{}') },
  { name: 'tables/event/000001', bytes: Buffer.alloc(3_000_000, 'a row\n') },
  { name: 'tables/event/000002', bytes: Buffer.alloc(0) },
  { name: `blobs/${'0'.repeat(36)}/${'f'.repeat(64)}`, bytes: Buffer.from('the bytes') },
];

async function write(name: string, signal = never): Promise<string> {
  const file = join(folder, name);
  await writeArchive(file, { seal, madeAt: new Date(), signal }, async (add) => {
    for (const { name: member, bytes } of contents) await add(member, bytes);
  });
  return file;
}

const verify = (file: string, by = seal) => verifyArchive(file, by, () => undefined);

test('an archive can be read again, and only its owner may read it', async () => {
  const file = await write('whole');
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.deepEqual(await readdir(folder), ['whole']);
  const found: Member[] = [];
  for await (const member of readVerifiedMembers(file, await verify(file))) found.push(member);
  assert.deepEqual(found, contents);
});

test('a file truncated anywhere is refused', async () => {
  const whole = await readFile(await write('to be cut'));
  const cut = join(folder, 'cut');
  for (const part of [0, 0.1, 0.5, 0.9, 0.999]) {
    await writeFile(cut, whole.subarray(0, Math.floor(whole.length * part)));
    await assert.rejects(verify(cut), { name: 'DamagedArchive' }, `${part} of it`);
  }
});

test('a tar truncated at the end of a member, or changed, is refused even if its gzip is complete', async () => {
  const tar = gunzipSync(await readFile(await write('to be changed')));
  const changed = join(folder, 'changed');
  const refuse = async (bytes: Buffer, what: string) => {
    await writeFile(changed, gzipSync(bytes));
    await assert.rejects(verify(changed), { name: 'DamagedArchive' }, what);
  };
  // Without the seal, and without the sums: each is a header of 512 bytes and one block, before the end of
  // the tar.
  const end = Buffer.alloc(1_024);
  await refuse(Buffer.concat([tar.subarray(0, tar.length - 1_024 - 1_024), end]), 'without a seal');
  await refuse(Buffer.concat([tar.subarray(0, tar.length - 1_024 - 2_048), end]), 'without sums');
  for (const text of ['a row', 'the bytes', 'SHA256SUMS.seal', 'tables/event/000002']) {
    const bytes = Buffer.from(tar);
    const at = bytes.lastIndexOf(text);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    await refuse(bytes, text);
  }
});

test('a file sealed by another key is refused', async () => {
  const file = await write('sealed');
  await assert.rejects(
    verify(file, () => 'sealed otherwise'),
    /not sealed by this master key/,
  );
});

test('a file that changes after it was verified yields nothing', async () => {
  const file = await write('exchanged');
  const sums = (await verify(file)).replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
  await assert.rejects(readVerifiedMembers(file, sums).next(), /changed while it was read/);
});

test('a file is not overwritten, and partial files of a killed run are removed', async () => {
  const file = await write('kept');
  const before = await readFile(file);
  const left = join(folder, 'kept.4194305.partial');
  await writeFile(left, 'half');
  await assert.rejects(write('kept'), /already exists/);
  assert.deepEqual(await readFile(file), before);
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.endsWith('.partial')),
    [],
  );
});

test('an interrupted or failed run leaves nothing', async () => {
  const interrupted = new AbortController();
  interrupted.abort(new Error('interrupted'));
  await assert.rejects(write('interrupted', interrupted.signal));
  const file = join(folder, 'failed');
  const failing = writeArchive(file, { seal, madeAt: new Date(), signal: never }, async (add) => {
    await add('backup.json', Buffer.alloc(20_000_000));
    throw new Error('the database went away');
  });
  await assert.rejects(failing, /the database went away/);
  const names = await readdir(folder);
  assert.deepEqual(
    names.filter((name) => /interrupted|failed/.test(name)),
    [],
  );
});

test('the error names a file that cannot be read', async () => {
  await assert.rejects(verify(join(folder, 'nowhere')), /nowhere cannot be read: ENOENT/);
  await writeFile(join(folder, 'text'), 'no gzip');
  await assert.rejects(verify(join(folder, 'text')), /is not a complete backup/);
});
