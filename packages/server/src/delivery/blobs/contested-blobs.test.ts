/**
 * Concurrent uploads of the same files: in any order of commits and failures, every version has its files.
 */
import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import type { Account } from '../../../testing/account.ts';
import { startTestServer } from '../../../testing/server.ts';
import { beginUpload, commitUpload, digestText } from '../../../testing/unfinished-upload.ts';
import type { Upload } from '../artifacts/index.ts';

const server = await startTestServer();
const { deps, database } = server;

async function readText({ accountId }: Account, text: string): Promise<string | undefined> {
  const found = await deps.blobs.read(accountId, digestText(text));
  return found && String(await buffer(found.stream));
}

async function requireThere(account: Account, ...texts: string[]): Promise<void> {
  for (const text of texts) assert.equal(await readText(account, text), text);
  await deps.blobs.waitForRemovals();
  for (const text of texts) assert.equal(await readText(account, text), text);
}

/** Each object by creation time: its state, its recorded live bytes, and the size of its blobs. */
async function listObjects({ accountId }: Account) {
  await deps.blobs.waitForRemovals();
  const rows = await database.query<Record<'state' | 'counted' | 'bytes', string>>(
    `select state, live_bytes::text as counted, coalesce((
       select sum(size) from blob b where b.account_id = $1 and b.object_key = o.object_key), 0)::text as bytes
     from blob_object o where account_id = $1 order by object_key`,
    [accountId],
  );
  return rows.map(({ state, counted, bytes }) => [state, Number(counted), Number(bytes)]);
}

const read = (account: Account, texts: readonly string[], then: (upload: Upload) => Promise<void>) =>
  beginUpload(deps, account, { texts }, then);
const commit = (account: Account, upload: Upload) => commitUpload(deps, account, upload);

test('files of an upload are not visible before its commit', async () => {
  const account = await server.account();
  await read(account, ['first'], async (upload) => {
    assert.equal(await readText(account, 'first'), undefined);
    assert.deepEqual(await listObjects(account), [['pending', 5, 5]]);
    await commit(account, upload);
    assert.equal(await readText(account, 'first'), 'first');
  });
  assert.deepEqual(await listObjects(account), [['live', 5, 5]]);
});

test('the second upload takes over a file of the first, which then uses that of the second', async () => {
  const account = await server.account();
  await read(account, ['of the first', 'of both'], async (first) => {
    await read(account, ['of both', 'of the second'], async (second) => {
      assert.deepEqual(
        second.blobs.unplaced.map(({ digest }) => digest),
        [digestText('of both')],
      );
      await commit(account, second);
    });
    await requireThere(account, 'of both', 'of the second');
    assert.equal(await readText(account, 'of the first'), undefined);
    assert.deepEqual(await listObjects(account), [
      ['pending', 12, 12],
      ['live', 20, 20],
    ]);
    await commit(account, first);
  });
  await requireThere(account, 'of the first', 'of both', 'of the second');
  assert.deepEqual(await listObjects(account), [
    ['live', 12, 12],
    ['live', 20, 20],
  ]);
});

test('the second upload uses the file of the first if that commits earlier', async () => {
  const account = await server.account();
  await read(account, ['of both'], async (first) => {
    await read(account, ['of both', 'of the second'], async (second) => {
      await commit(account, first);
      await commit(account, second);
    });
  });
  await requireThere(account, 'of both', 'of the second');
  assert.deepEqual(await listObjects(account), [
    ['live', 7, 7],
    ['live', 13, 13],
  ]);
});

test('the second upload keeps the file if the first one fails before or after', async () => {
  const gaveUp = new Error('gave up');
  const before = await server.account();
  await assert.rejects(
    read(before, ['of both'], async () => {
      await read(before, ['of both'], (second) => commit(before, second));
      throw gaveUp;
    }),
    gaveUp,
  );
  await requireThere(before, 'of both');
  assert.deepEqual(await listObjects(before), [['live', 7, 7]]);

  const after = await server.account();
  const brought = Promise.withResolvers<void>();
  const failure = Promise.withResolvers<void>();
  const failing = read(after, ['of both'], () => {
    brought.resolve();
    return failure.promise;
  });
  await brought.promise;
  await read(after, ['of both'], async (second) => {
    failure.reject(gaveUp);
    await assert.rejects(failing, gaveUp);
    await commit(after, second);
  });
  await requireThere(after, 'of both');
  assert.deepEqual(await listObjects(after), [['live', 7, 7]]);
});

test('two uploads with files of each other do not deadlock', async () => {
  const account = await server.account();
  const texts = Array.from({ length: 40 }, (_, index) => `file ${index}`);
  const backwards = texts.toReversed();
  const bothThere = Promise.withResolvers<void>();
  let arrived = 0;
  const one = (order: readonly string[]) =>
    beginUpload(deps, account, { texts: order, batch: 5 }, async (upload) => {
      arrived += 1;
      if (arrived === 2) bothThere.resolve();
      await bothThere.promise;
      await commit(account, upload);
    });
  await Promise.all([one(texts), one(backwards)]);
  await requireThere(account, ...texts);
  for (const [state, counted, bytes] of await listObjects(account)) {
    assert.equal(state, 'live');
    assert.equal(counted, bytes);
  }
});

test('if some files of a batch exist already, the others are read from where they were put', async () => {
  const account = await server.account();
  await read(account, ['b', 'dd'], (upload) => commit(account, upload));
  const texts = ['aaa', 'b', 'cccc', 'dd', '', 'eeeee'];
  await read(account, texts, (upload) => commit(account, upload));
  await requireThere(account, ...texts);
  assert.deepEqual(await listObjects(account), [
    ['live', 3, 3],
    ['live', 12, 12],
  ]);
});
