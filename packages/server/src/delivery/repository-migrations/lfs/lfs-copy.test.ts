/** Hosts of LFS objects that misbehave, and pointers that must not be followed. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { commitFiles } from '../../../../testing/git-host.ts';
import { startLfsHost } from '../../../../testing/lfs-host.ts';
import { createLog, silentLog } from '../../../kernel/log.ts';
import { createEgressGuard, parseEgressAllow } from '../../../kernel/security/egress.ts';
import { Secret } from '../../../kernel/security/sealed.ts';
import { createGit, openGitRepository } from '../../git/index.ts';
import { type Credential, createCredential, createRemotes } from '../../git-remotes/index.ts';
import type { Place } from '../git/git-calls.ts';
import { findProvider } from '../tokens/sign-in.ts';
import { computeTransferMilliseconds, type LfsHost } from './lfs-client.ts';
import { copyLfsObjects, type FoundPointer, findPointers, requireSmall } from './lfs-copy.ts';

const folder = await mkdtemp(join(tmpdir(), 'headgate-lfs-copy-'));
const stopping = new AbortController();
const guard = createEgressGuard(parseEgressAllow(['127.0.0.0/8']));
const remotes = createRemotes({ guard, log: silentLog, trustedAddresses: [] });
const [from, to] = [await startLfsHost(), await startLfsHost()];
after(async () => {
  stopping.abort();
  await Promise.all([from.close(), to.close(), remotes.close()]);
  await rm(folder, { recursive: true, force: true });
});
const git = createGit({
  folder: join(folder, 'git'),
  searchPath: process.env.PATH,
  mostBytes: 100_000_000,
  processes: { ofServer: 2, ofAccount: 2 },
  log: createLog('error', { write: () => undefined }),
  stopping: stopping.signal,
});

let places = 0;
async function createPlace(): Promise<Place> {
  places += 1;
  const path = join(folder, `${places}.git`);
  await git.makeRepository(path);
  return { git, folder: path, accountId: 'a', signal: stopping.signal, isBackground: false };
}

const content = randomBytes(5_000);
const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const pointer: FoundPointer = { oid: digest(content), size: content.length, blobId: '0'.repeat(40) };
const objects = join(folder, 'objects');
await git.makeFolder(objects);

const describeHost = (side: 'source' | 'target', port: number, credential?: Credential): LfsHost => ({
  side,
  provider: findProvider('git'),
  remotes,
  cloneUrl: `http://127.0.0.1:${port}/acme/x.git`,
  credential,
  signal: stopping.signal,
});

async function copy(credential?: Credential, endsAt = Number.POSITIVE_INFINITY): Promise<string> {
  from.requests.length = 0;
  const hosts = {
    source: describeHost('source', from.port, credential),
    target: describeHost('target', to.port),
  };
  const place = await createPlace();
  const others = { place, folder: objects, endsAt, onBytes: () => undefined, onProgress: () => undefined };
  return copyLfsObjects({ ...hosts, ...others }, [pointer]).then(
    (bytes) => `${bytes} bytes`,
    (failure: Error & { code?: string }) => `${failure.code}: ${failure.message}`,
  );
}

test('a source that misbehaves is named, gets no second request, and fills no disk', async () => {
  from.objects.set(pointer.oid, content);
  const countRequests = () => from.requests.filter(({ url }) => url.startsWith('/lfs-objects/')).length;
  from.serve = ({ url }, response) => response.writeHead(302, { location: String(url) }).end();
  assert.match(await copy(), /^lfs-objects-missing: .* the host answered 302/);
  assert.equal(countRequests(), 1);

  const taken = { bytes: 0 };
  from.serve = (_request, response) => sendForever(response, taken);
  assert.match(await copy(), /^too-large: The source: .* sent more than 5000 bytes/);
  // What the buffers of the connection took.
  assert.ok(taken.bytes < 50_000_000, String(taken.bytes));

  from.serve = (_request, response) => response.writeHead(200).end(content.subarray(0, 4_000));
  assert.match(await copy(), /the host sent 4000 bytes in place of 5000/);
  from.serve = undefined;
  for (const href of ['file:///etc/passwd', 'http://169.254.169.254/latest', 'http://[fd00::1]/x']) {
    from.alter = (answer) => ({ ...answer, size: 1, actions: { download: { href } } });
    assert.match(await copy(), /^address-refused: /, href);
  }
  from.alter = (answer) => answer;
  assert.equal(to.objects.size, 0);
  assert.deepEqual(await readdir(objects), []);
});

test('a target that is full is named so, whichever answer says it', async () => {
  from.objects.set(pointer.oid, content);
  const answers: [number, string][] = [
    [507, ''],
    [413, 'x'],
    [403, '<Error><Code>QuotaExceeded</Code></Error>'],
    [500, 'write: no space left on device'],
  ];
  for (const [status, text] of answers) {
    to.serve = (_request, response) => response.writeHead(status).end(text);
    assert.match(await copy(), /^quota-exceeded: Git LFS of the target: .* Raise /, `${status} ${text}`);
  }
  to.serve = (_request, response) => response.writeHead(500).end('out of luck');
  assert.match(await copy(), /^lfs-objects-missing: .* the target does not take it: the host answered 500/);
  to.serve = undefined;
  for (const error of [
    { code: 507, message: 'x' },
    { code: 422, message: 'Your push failed because the account has exceeded its LFS storage quota' },
  ]) {
    to.alter = (answer) => ({ ...answer, actions: {}, error });
    assert.match(await copy(), /^quota-exceeded: Git LFS of the target refuses the object/, error.message);
  }
  to.alter = (answer) => ({ ...answer, actions: {}, error: { code: 403, message: 'not for you' } });
  assert.match(await copy(), /^lfs-refused: /);
  to.alter = (answer) => answer;
  assert.match(await copy(), /bytes$/);
  to.objects.clear();
});

function sendForever(response: ServerResponse, taken: { bytes: number }): void {
  const write = () => {
    while (!response.destroyed) {
      taken.bytes += 65_536;
      if (!response.write(Buffer.alloc(65_536))) return;
    }
  };
  response.on('drain', write);
  write();
}

test('hosts that need too long for all objects together, or for one, do not hold a migration', async () => {
  from.objects.set(pointer.oid, content);
  to.objects.clear();
  assert.match(await copy(undefined, performance.now() - 1), /^host-timeout: .* too slow/);
  assert.equal(to.objects.size, 0);
  assert.ok(computeTransferMilliseconds(content.length) < 121_000);
  assert.equal(computeTransferMilliseconds(100_000_000_000), 3_600_000);
});

test('a target that says another size than the pointer fails it', async () => {
  from.objects.set(pointer.oid, content);
  to.alter = (answer, operation) => (operation === 'download' ? { ...answer, size: 7 } : answer);
  assert.match(await copy(), /^lfs-objects-missing: .* the target has 7 bytes in place of 5000/);
  to.alter = (answer) => answer;
});

test('a credential is sent to the host of the repository, and not to another one that has the objects', async () => {
  to.objects.clear();
  const other = await startLfsHost();
  after(() => other.close());
  for (const host of [from, other]) host.objects.set(pointer.oid, content);
  from.objectsUrl = () => `http://127.0.0.1:${other.port}`;
  const url = `http://127.0.0.1:${from.port}`;
  assert.equal(await copy(createCredential('git', { url, token: new Secret('t0ken') })), '5000 bytes');
  from.objectsUrl = undefined;
  const showed = ({ requests }: typeof from) =>
    requests.map(({ headers }) => headers.authorization !== undefined);
  assert.deepEqual([showed(from), showed(other)], [[true], [false]]);
});

test('objects that are too large or too many are refused before a host is asked', async () => {
  const place = await createPlace();
  const repository = openGitRepository(git, place);
  const write = (bytes: Buffer, size: number) =>
    `version https://git-lfs.github.com/spec/v1\noid sha256:${digest(bytes)}\nsize ${size}\n`;
  const files = { 'a/huge.bin': write(content, 999_999_999_999_999), 'b.bin': write(Buffer.from('b'), 1) };
  commitFiles(place.folder, { files });
  const found = await findPointers(place, repository, 2);
  assert.equal(found.length, 2);
  await assert.rejects(requireSmall(place, found, 1_000), {
    code: 'too-large',
    message: /^a\/huge\.bin is in Git LFS with 999999999999999 bytes .* may have 1000 at most\. Remove/,
  });
  await assert.rejects(findPointers(place, repository, 1), {
    code: 'too-large',
    message: /more than 1 files in Git LFS\. Remove/,
  });
});
