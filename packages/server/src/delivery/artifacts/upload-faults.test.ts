/**
 * Faults during an upload: a clear problem, nothing visible, nothing left behind, nothing of other accounts
 * revealed.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, mock, test } from 'node:test';
import { promisify } from 'node:util';
import type { Account } from '../../../testing/account.ts';
import { createClient, requireProblem } from '../../../testing/client.ts';
import { startFakeS3 } from '../../../testing/fake-s3.ts';
import type { TestServer } from '../../../testing/open-server.ts';
import {
  buildMultipart,
  multipartBoundary,
  type Part,
  smallPipeline,
  type TestProject,
  upload,
} from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { waitUntil } from '../../../testing/waiting.ts';
import { createPipelineReader } from './reading/pipeline-reader.ts';

const run = promisify(execFile);
const withinSeconds = 60;

/** New files; together more than a pack. */
const createFiles = (count = 3, bytes = 4_000_000): Part[] =>
  Array.from({ length: count }, (_, index) => ({
    name: `f${index}`,
    content: randomBytes(bytes / 2).toString('hex'),
  }));

async function createScene(server: TestServer) {
  const account = await server.account();
  const project = await account.project();
  return { account, project };
}

async function countRows(server: TestServer, { accountId }: Account): Promise<number> {
  const [row] = await server.database.query<{ count: number }>(
    `select (select count(*) from blob where account_id = $1) + (select count(*) from manifest where account_id = $1)
      + (select count(*) from blob_object where account_id = $1)::int as count`,
    [accountId],
  );
  return Number(row?.count);
}

async function requireNothingVisible(account: Account, { path }: TestProject): Promise<void> {
  requireProblem(
    await account.admin.get(`${path}/artifacts/details?environmentName=dev`),
    404,
    'artifact-not-found',
  );
}

describe('a client that disconnects', async () => {
  const server = await startTestServer();
  const folder = join(server.deps.config.dataDirectory, 'blobs');

  test('during an upload leaves nothing, even if some files were stored', async () => {
    const { account, project } = await createScene(server);
    const url = new URL(await server.listen());
    const socket = connect(Number(url.port), url.hostname);
    socket.on('error', () => undefined);
    const body = buildMultipart(createFiles(5));
    socket.write(
      `POST /dpc/v1${project.path}/artifacts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${await account.admin.token()}\r\n` +
        `environmentName: dev\r\nversionName: v1\r\ncontent-type: multipart/form-data; boundary=${multipartBoundary}\r\n` +
        `content-length: ${body.length}\r\n\r\n`,
    );
    socket.write(body.subarray(0, body.length - 2_000_000));
    const stored = async () =>
      (await readdir(join(folder, account.accountId)).catch(() => [])).some(
        (name) => !name.endsWith('.part'),
      );
    await waitUntil('a stored pack', withinSeconds, stored).finally(() => socket.destroy());
    await waitUntil(
      'the removal of the stored files',
      withinSeconds,
      async () =>
        (await countRows(server, account)) === 0 &&
        (await readdir(join(folder, account.accountId))).length === 0,
    );
    await requireNothingVisible(account, project);
    assert.equal((await upload(account.admin, project, createFiles(1, 100))).status, 201);
  });
});

describe('an upload that is refused at its end', async () => {
  const server = await startTestServer();

  test('leaves only what existed before', async () => {
    const { account, project } = await createScene(server);
    await upload(account.admin, project, createFiles(2, 100));
    const before = await countRows(server, account);
    requireProblem(await upload(account.admin, project, createFiles(3, 100)), 409, 'version-exists');
    await server.deps.blobs.waitForRemovals();
    assert.equal(await countRows(server, account), before);
    const { dataDirectory } = server.deps.config;
    assert.equal((await readdir(join(dataDirectory, 'blobs', account.accountId))).length, 1);
  });

  test('or repeated with its idempotency key stores nothing twice', async () => {
    const { account, project } = await createScene(server);
    const parts = createFiles(2, 100);
    const key = { 'idempotency-key': 'the same' };
    assert.equal((await upload(account.admin, project, parts, key)).status, 201);
    const before = await countRows(server, account);
    const again = await upload(account.admin, project, parts, key);
    assert.equal(again.headers['idempotency-replayed'], 'true');
    await server.deps.blobs.waitForRemovals();
    assert.equal(await countRows(server, account), before);
  });
});

describe('a disk that is full', async () => {
  const place = await mkdtemp(join(tmpdir(), 'headgate-full-'));
  const blobs = join(place, 'blobs');
  await mkdir(blobs);
  // Mounting needs root and is not always possible. Otherwise every write fails with the error of a full
  // disk.
  const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', blobs]).then(
    () => true,
    () => false,
  );
  const server = await startTestServer({ config: { objects: { kind: 'folder', folder: blobs } } });
  after(async () => {
    mock.restoreAll();
    if (mounted) await run('umount', ['-l', blobs]);
    await rm(place, { recursive: true, force: true });
  });

  const kind = mounted ? 'a small tmpfs' : 'no right to mount: failing writes';
  test(`is reported, and nothing of the upload is left (${kind})`, async () => {
    const { account, project } = await createScene(server);
    assert.equal((await upload(account.admin, project, createFiles(1, 1_000))).status, 201, 'there is room');
    const before = await countRows(server, account);
    if (!mounted) await failWrites();
    const answer = await upload(account.admin, project, createFiles(), { versionName: 'v2' });
    const { detail } = requireProblem(answer, 503, 'storage-full');
    assert.ok(answer.headers['retry-after']);
    assert.ok(!detail.includes(place) && !answer.text.includes('ENOSPC'), answer.text);
    assert.ok(
      server.logLines.some((line) => line.includes('ENOSPC')),
      'the cause is logged',
    );
    mock.restoreAll();
    await server.deps.blobs.waitForRemovals();
    assert.equal(await countRows(server, account), before);
    assert.equal((await readdir(join(blobs, account.accountId))).length, 1);
    const later = await upload(account.admin, project, createFiles(1, 2_000), { versionName: 'v2' });
    assert.equal(later.status, 201, 'there is room again');
  });

  async function failWrites(): Promise<void> {
    const { open } = await import('node:fs/promises');
    const file = await open(join(place, 'any'), 'w');
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    mock.method(Object.getPrototypeOf(file), 'writeFile', () => Promise.reject(full));
    await file.close();
  }
});

describe('a bucket', async () => {
  const s3 = await startFakeS3();
  after(() => s3.close());
  afterEach(() => s3.behave(() => 'serve'));
  const settings = {
    HEADGATE_BLOB_STORE: 's3',
    HEADGATE_BLOB_BUCKET: s3.bucket,
    HEADGATE_BLOB_PREFIX: 'headgate/tests',
    HEADGATE_BLOB_REGION: s3.region,
    HEADGATE_BLOB_ENDPOINT: s3.endpoint,
    HEADGATE_BLOB_PATH_STYLE: 'on',
    HEADGATE_BLOB_ACCESS_KEY_ID: s3.accessKeyId,
    HEADGATE_BLOB_SECRET_ACCESS_KEY: s3.secretAccessKey,
  };
  const patience = { silentMilliseconds: 120_000, wholeMilliseconds: 600_000, attempts: 2 };
  const server = await startTestServer({ settings, patience });
  const impatient = await startTestServer({
    database: server.database,
    settings,
    patience: { ...patience, silentMilliseconds: 1_000 },
  });

  test('stores an upload in packs under its prefix and account', async () => {
    const { account, project } = await createScene(server);
    assert.equal((await upload(account.admin, project, createFiles(5, 1_500_000))).status, 201);
    const keys = [...s3.objects.keys()].filter((key) => key.includes(account.accountId));
    assert.equal(keys.length, 3);
    for (const key of keys) assert.ok(key.startsWith(`headgate/tests/${account.accountId}/`), key);
  });

  for (const behaviour of ['refuse', 'slow-down', 'hang', 'cut', 'full'] as const) {
    test(`that responds with "${behaviour}" is reported by a problem that reveals nothing of it`, async () => {
      const { account, project } = await createScene(server);
      s3.behave((method) => (method === 'PUT' ? behaviour : 'serve'));
      const { transport, deps, logLines } = behaviour === 'hang' ? impatient : server;
      const client = createClient(transport, '/dpc/v1', account.admin.token);
      const answer = await upload(client, project, createFiles(2, 1_000));
      requireProblem(answer, 503, behaviour === 'full' ? 'storage-full' : 'storage-unavailable');
      assert.ok(answer.headers['retry-after']);
      const secrets = [
        s3.bucket,
        s3.endpoint,
        s3.accessKeyId,
        s3.secretAccessKey,
        'headgate/tests',
        'node_modules',
      ];
      for (const secret of secrets) assert.ok(!answer.text.includes(secret), answer.text);
      const logged = logLines.join('');
      assert.ok(!logged.includes(s3.secretAccessKey) && !logged.includes(s3.accessKeyId));
      await requireNothingVisible(account, project);
      await deps.blobs.waitForRemovals();
      assert.equal(await countRows(server, account), 0);
      s3.behave(() => 'serve');
      assert.equal((await upload(account.admin, project, createFiles(2, 1_000))).status, 201);
    });
  }
});

test('the time for a pipeline file begins when its thread has started, which takes long on a busy machine', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  // Large enough for the thread.
  const text = `${smallPipeline}\n#${'x'.repeat(100_000)}\n`;
  const reading = createPipelineReader()({ path: 'a.orch.yaml', text, most: 10 }, 'account');
  await new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(3_600_000);
  assert.equal((await reading).outline?.name, 'a');
});
