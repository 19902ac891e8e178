import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { GuardedFetch } from '../../git-remotes/index.ts';
import { downloadObject, type LfsAnswer, type LfsHost, uploadObject } from './lfs-client.ts';

const folder = await mkdtemp(join(tmpdir(), 'headgate-lfs-'));
after(() => rm(folder, { recursive: true, force: true }));

const bytes = Buffer.alloc(300_000, 'x');
const answer: LfsAnswer = {
  oid: '0'.repeat(64),
  size: bytes.length,
  isAuthenticated: true,
  actions: { upload: { href: 'https://lfs.example.com/object', header: {} } },
  error: undefined,
};

function createHost(fetchText: (body: Readable) => Promise<{ status: number }>): LfsHost {
  return {
    remotes: { fetchText: (_url: string, { body }: GuardedFetch) => fetchText(body as Readable) },
    cloneUrl: 'https://lfs.example.com/a/b.git',
    signal: new AbortController().signal,
  } as unknown as LfsHost;
}

test('an object is sent whole to a host whose name takes time to resolve', async () => {
  const file = join(folder, 'object');
  await writeFile(file, bytes);
  let counted = 0;
  let sent = 0;
  const host = createHost(async (body) => {
    await delay(200);
    for await (const chunk of body) sent += (chunk as Buffer).length;
    return { status: 200 };
  });
  assert.equal(await uploadObject(host, answer, file, (count) => (counted += count)), undefined);
  assert.deepEqual([sent, counted], [bytes.length, bytes.length]);
});

test('the file of an upload that fails is closed', async () => {
  const file = join(folder, 'other');
  await writeFile(file, bytes);
  let input: Readable | undefined;
  const host = createHost(async (body) => {
    input = body;
    throw new Error('refused');
  });
  await assert.rejects(
    uploadObject(host, answer, file, () => undefined),
    /refused/,
  );
  assert.equal(input?.destroyed, true);
});

test('an address that is not of the host itself passes the guard, also one that the operator trusts', async () => {
  const file = join(folder, 'third');
  await writeFile(file, bytes);
  const seen: [string, boolean | undefined][] = [];
  const host = {
    ...createHost(async () => ({ status: 200 })),
    remotes: {
      fetchText: async (url: string, { isNamedByHost }: GuardedFetch) => {
        seen.push([url, isNamedByHost]);
        return { status: 200 };
      },
      fetch: async (url: string, { isNamedByHost }: GuardedFetch) => {
        seen.push([url, isNamedByHost]);
        return { status: 404, body: Readable.from([]) };
      },
    },
  } as unknown as LfsHost;
  const own = { href: 'https://lfs.example.com/object', header: {} };
  const foreign = { href: 'https://git.operator.example/object', header: {} };
  const noCount = () => undefined;
  await uploadObject(host, { ...answer, actions: { upload: own, verify: foreign } }, file, noCount);
  await uploadObject(host, { ...answer, actions: { upload: foreign } }, file, noCount);
  await downloadObject(host, { ...answer, actions: { download: foreign } }, join(folder, 'no'), noCount);
  assert.deepEqual(seen, [
    [own.href, false],
    [foreign.href, true],
    [foreign.href, true],
    [foreign.href, true],
  ]);
});
