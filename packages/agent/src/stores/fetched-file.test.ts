import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type FetchOptions, fetchObject } from './fetched-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-fetch-'));
after(() => rmSync(folder, { recursive: true }));

const chunk = Buffer.alloc(65_536, 'a line of the file\n');
const size = chunk.byteLength * 100;
const options: FetchOptions = {
  store: {
    read: async (_key, _range, _signal, use) =>
      use(
        (async function* () {
          for (let at = 0; at < size; at += chunk.byteLength) yield chunk;
        })(),
      ),
  },
  object: { key: 'a.csv', size, modified: '', version: '' },
  reading: { compression: 'auto', encoding: undefined, replacesInvalid: false },
  createFile: async () => join(folder, 'a'),
  removeFile: async (path) => rmSync(path, { force: true }),
  bounds: { fileBytes: size },
  time: { sleep: async () => undefined, random: () => 0, date: () => new Date() },
  signal: new AbortController().signal,
};

test('a full disk is said in words', async () => {
  const removed: string[] = [];
  const full = {
    ...options,
    createFile: async () => '/dev/full',
    removeFile: async (path: string) => void removed.push(path),
  };
  await assert.rejects(fetchObject(full), {
    message: 'the disk of the agent is full: "a.csv" was not fetched; free space, or load smaller objects',
  });
  assert.deepEqual(removed, ['/dev/full']);
});

test('a file that is too large leaves nothing', async () => {
  const packed = gzipSync(Buffer.alloc(size, chunk));
  const store: FetchOptions['store'] = {
    read: async (_key, _range, _signal, use) =>
      use(
        (async function* () {
          yield packed;
        })(),
      ),
  };
  const object = { ...options.object, size: packed.byteLength };
  const bounds = { fileBytes: size - 1 };
  await assert.rejects(
    fetchObject({ ...options, store, object, bounds }),
    /"a\.csv": it has more than 6 MiB/,
  );
  assert.deepEqual(readdirSync(folder), []);
  const [file] = await fetchObject(options);
  assert.equal(file?.bytes, size);
});

test('an archive that the store says to be too large is not fetched', async () => {
  let read = 0;
  const store: FetchOptions['store'] = {
    read: async () => {
      read += 1;
      throw new Error('it was read');
    },
  };
  const object = { ...options.object, size: Number.MAX_SAFE_INTEGER };
  const reading = { ...options.reading, compression: 'zip' } as const;
  await assert.rejects(
    fetchObject({ ...options, store, object, reading }),
    /"a\.csv" has 9007199254740991 bytes; the limit of one file is 6553600: divide it/,
  );
  assert.equal(read, 0);
});

test('a fetch that is aborted ends, and leaves nothing', async () => {
  const controller = new AbortController();
  const store: FetchOptions['store'] = {
    read: async (_key, _range, signal, use) =>
      use(
        (async function* () {
          yield chunk;
          controller.abort(new Error('cancelled'));
          signal.throwIfAborted();
        })(),
      ),
  };
  const aborted = { ...options, store, signal: controller.signal };
  rmSync(join(folder, 'a'), { force: true });
  await assert.rejects(fetchObject(aborted), /cancelled/);
  assert.deepEqual(readdirSync(folder), []);
});
