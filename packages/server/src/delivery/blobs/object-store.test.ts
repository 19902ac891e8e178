/** Tests that every kind of object store passes, and the errors of each kind. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, afterEach, describe, test } from 'node:test';
import { type FakeS3, startFakeS3 } from '../../../testing/fake-s3.ts';
import { Problem } from '../../kernel/http/problems.ts';
import { Secret } from '../../kernel/security/sealed.ts';
import type { ObjectStore, ObjectStoreSettings } from './object-store.ts';
import { openObjectStore } from './object-stores.ts';
import { createPack } from './pack.ts';

const s3: FakeS3 = await startFakeS3();
const folder = await mkdtemp(join(tmpdir(), 'headgate-objects-'));
/** A second of silence is an error; this test server responds sooner. */
const impatient = { silentMilliseconds: 1_000, wholeMilliseconds: 600_000, attempts: 2 };
/** Where something must succeed: a busy machine may be slow. */
const persistent = { ...impatient, attempts: 20 };
const openBucket = (
  about: Partial<Extract<ObjectStoreSettings, { kind: 's3' }>> = {},
): ObjectStoreSettings => ({
  kind: 's3',
  bucket: s3.bucket,
  prefix: 'one/installation/',
  region: s3.region,
  endpoint: s3.endpoint,
  pathStyle: true,
  credentials: { accessKeyId: s3.accessKeyId, secretAccessKey: new Secret(s3.secretAccessKey) },
  ...about,
});
const opened: ObjectStore[] = [];
const open = async (settings: ObjectStoreSettings): Promise<ObjectStore> => {
  const store = await openObjectStore(settings);
  opened.push(store);
  return store;
};
afterEach(() => s3.behave(() => 'serve'));
after(async () => {
  for (const store of opened) store.close();
  await s3.close();
  await rm(folder, { recursive: true });
});

const kinds: Record<ObjectStoreSettings['kind'], ObjectStoreSettings> = {
  folder: { kind: 'folder', folder: join(folder, 'conformance', 'deep') },
  s3: openBucket(),
};

async function readBytes(store: ObjectStore, accountId: string, key: string, start: number, length: number) {
  const stream = await store.read(accountId, key, { start, length });
  return stream && (await buffer(stream));
}

async function listKeys(store: ObjectStore, accountId: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key, modifiedAt } of store.list(accountId)) {
    assert.ok(Math.abs(Date.now() - modifiedAt.getTime()) < 600_000);
    keys.push(key);
  }
  return keys.sort();
}

for (const [kind, settings] of Object.entries(kinds)) {
  describe(`a store of the kind ${kind}`, async () => {
    const store = await open(settings);
    const account = randomUUID();

    test('works in the configured place', () => store.probe());

    test('reads any part of an object, only for its account', async () => {
      const bytes = randomBytes(300_000);
      const key = randomUUID();
      await store.put(account, key, [bytes.subarray(0, 100_000), bytes.subarray(100_000)]);
      assert.deepEqual(await readBytes(store, account, key, 0, bytes.length), bytes);
      assert.deepEqual(await readBytes(store, account, key, 99_999, 3), bytes.subarray(99_999, 100_002));
      assert.deepEqual(await readBytes(store, account, key, 299_999, 1), bytes.subarray(299_999));
      assert.equal(await readBytes(store, randomUUID(), key, 0, 1), undefined);
      assert.equal(await readBytes(store, account, randomUUID(), 0, 1), undefined);
    });

    test('reads packs of any length', async () => {
      for (const length of [1, 262_143, 262_144, 262_145, 524_287, 524_288, 528_385]) {
        const pack = createPack(randomUUID());
        const bytes = randomBytes(length);
        for (let at = 0; at < length; at += 50_000) pack.add(`${at}`, bytes.subarray(at, at + 50_000));
        await store.put(account, pack.key, pack.chunks);
        assert.ok(bytes.equals((await readBytes(store, account, pack.key, 0, length)) ?? Buffer.alloc(0)));
      }
    });

    test('accepts the same object again', async () => {
      const key = `ab/${randomUUID()}`;
      for (let time = 0; time < 2; time++) await store.put(account, key, [Buffer.from('the same')]);
      assert.equal(String(await readBytes(store, account, key, 0, 8)), 'the same');
    });

    test('lists all objects of an account, without removed ones', async () => {
      const owner = randomUUID();
      assert.deepEqual(await listKeys(store, owner), []);
      const keys = Array.from({ length: 8 }, (_, index) =>
        index % 2 ? `ab/${randomUUID()}` : randomUUID(),
      ).sort();
      for (const key of keys) await store.put(owner, key, [Buffer.from(key)]);
      await store.put(account, randomUUID(), [Buffer.from('of another')]);
      assert.deepEqual(await listKeys(store, owner), keys);
      for (const key of [...keys, 'never-there']) await store.remove(owner, key);
      assert.deepEqual(await listKeys(store, owner), []);
      assert.equal(await readBytes(store, owner, keys[0] ?? '', 0, 1), undefined);
    });

    test('accepts concurrent puts', async () => {
      const keys = Array.from({ length: 20 }, () => randomUUID());
      await Promise.all(keys.map((key) => store.put(account, key, [Buffer.from(key)])));
      for (const key of keys) assert.equal(String(await readBytes(store, account, key, 0, key.length)), key);
    });
  });
}

async function catchFailure(work: Promise<unknown>): Promise<Problem> {
  const failure = await work.then(
    () => assert.fail('it succeeded'),
    (reason) => reason,
  );
  assert.ok(failure instanceof Problem, String(failure));
  assert.ok(failure.cause instanceof Error, 'the operator finds the cause in the log');
  for (const secret of [s3.bucket, s3.endpoint, s3.accessKeyId, s3.secretAccessKey, folder])
    assert.ok(!failure.message.includes(secret), failure.message);
  return failure;
}

describe('a bucket', async () => {
  const store = await open(openBucket({ patience: persistent }));
  const account = randomUUID();
  const put = (key: string) => store.put(account, key, [Buffer.from('x')]);

  test('that refuses, hangs, cuts the connection or is full is reported in time', async () => {
    const codes = {
      refuse: 'storage-unavailable',
      'slow-down': 'storage-unavailable',
      hang: 'storage-unavailable',
      cut: 'storage-unavailable',
      full: 'storage-full',
    } as const;
    const store = await open(openBucket({ patience: impatient }));
    const put = () => store.put(account, randomUUID(), [Buffer.from('x')]);
    for (const [behaviour, code] of Object.entries(codes)) {
      s3.behave(() => behaviour as keyof typeof codes);
      assert.equal((await catchFailure(put())).code, code, behaviour);
      assert.equal(
        (await catchFailure(store.read(account, 'x', { start: 0, length: 1 }))).code,
        code,
        behaviour,
      );
      assert.equal((await catchFailure(store.remove(account, 'x'))).code, code, behaviour);
      assert.equal((await catchFailure(listKeys(store, account))).code, code, behaviour);
    }
  });

  test('is retried after a temporary failure', async () => {
    for (const behaviour of ['slow-down', 'cut', 'hang'] as const) {
      let first = true;
      s3.behave(() => {
        const answer = first ? behaviour : 'serve';
        first = false;
        return answer;
      });
      const key = randomUUID();
      await put(key);
      assert.equal(String(await readBytes(store, account, key, 0, 1)), 'x');
    }
  });

  test('a bucket that ignores ranges reveals no other files of a pack', async () => {
    const store = await open(openBucket());
    const [accountId, key] = [randomUUID(), randomUUID()];
    await store.put(accountId, key, [Buffer.from('secret of another project')]);
    s3.behave((method) => (method === 'GET' ? 'whole-object' : 'serve'));
    await assert.rejects(store.read(accountId, key, { start: 0, length: 6 }), {
      code: 'storage-unavailable',
    });
  });

  test('a bucket that lists keys of others, or the same keys again, fails the list', async () => {
    const store = await open(openBucket());
    const accountId = randomUUID();
    for (let count = 0; count < 4; count += 1)
      await store.put(accountId, randomUUID(), [Buffer.from('bytes')]);
    s3.behave(() => 'all-keys');
    await assert.rejects(listKeys(store, randomUUID()), /listed a key outside of/);
    s3.behave(() => 'first-page');
    await assert.rejects(listKeys(store, accountId), /repeats a continuation token/);
  });

  test('that breaks off in the middle of an object fails the read', async () => {
    const key = randomUUID();
    await store.put(account, key, [Buffer.from('many bytes')]);
    s3.behave(() => 'cut-body');
    await assert.rejects(readBytes(store, account, key, 0, 10));
  });

  test('with a wrong name, wrong keys or a wrong region fails the probe', async () => {
    const secretAccessKey = new Secret('another secret');
    const faults: [ObjectStoreSettings, string][] = [
      [openBucket({ bucket: 'no-such-bucket' }), 'NoSuchBucket'],
      [openBucket({ credentials: { accessKeyId: 'AKIANOBODY', secretAccessKey } }), 'InvalidAccessKeyId'],
      [
        openBucket({ credentials: { accessKeyId: s3.accessKeyId, secretAccessKey } }),
        'SignatureDoesNotMatch',
      ],
    ];
    for (const [settings, name] of faults) await assert.rejects((await open(settings)).probe(), { name });
    s3.behave((method) => (method === 'DELETE' ? 'refuse' : 'serve'));
    await assert.rejects((await open(openBucket())).probe(), { name: 'AccessDenied' });
    const nobody = openBucket({ endpoint: 'http://127.0.0.1:1' });
    await assert.rejects((await open(nobody)).probe(), { code: 'ECONNREFUSED' });
  });
});

describe('a folder', async () => {
  test('whose disk fails is reported, and leaves no partial files', async () => {
    const place = join(folder, 'blocked');
    const store = await open({ kind: 'folder', folder: place });
    await store.probe();
    const account = randomUUID();
    // A file is where the account's folder would be.
    await writeFile(join(place, account), '');
    assert.equal(
      (await catchFailure(store.put(account, 'key', [Buffer.from('x')]))).code,
      'storage-unavailable',
    );
  });

  test('creates files that only its user can read', async () => {
    const place = join(folder, 'private');
    const store = await open({ kind: 'folder', folder: place });
    const account = randomUUID();
    await store.put(account, 'key', [Buffer.from('x')]);
    assert.equal((await stat(join(place, account, 'key'))).mode & 0o777, 0o600);
    assert.equal((await stat(join(place, account))).mode & 0o777, 0o700);
    await chmod(place, 0o700);
  });
});
