/** Versions of a project's files. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import type { ArtifactDetails, Page } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import {
  buildMultipart,
  multipartBoundary,
  type Part,
  smallPipeline,
  upload,
} from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({
  config: { upload: { parts: 5, partBytes: 2_000, requestBytes: 8_000 } },
});
type Details = { assets: string[]; details: ArtifactDetails };

async function createProject() {
  const account = await server.account();
  const made = await account.project();
  const artifacts = `${made.path}/artifacts`;
  const details = (query = '') =>
    account.admin.get<Details>(`${artifacts}/details?environmentName=dev${query}`);
  return { account, admin: account.admin, project: made, artifacts, details };
}
const buildPart = (name: string, content: string | Buffer = 'x'): Part => ({ name, content });

test('a version is uploaded and read back with the paths of its files', async () => {
  const { admin, project: made, details } = await createProject();
  const parts = [
    buildPart('b/readme.md', '# Größe'),
    buildPart('main.orch.yaml', smallPipeline),
    buildPart('a.csv'),
  ];
  const answer = await upload(admin, made, parts, { commitHash: 'abc', branch: 'main' });
  assert.equal(answer.status, 201);
  assert.deepEqual(answer.body, {
    ignoredResources: [],
    versionName: 'v1',
    warnings: [],
    warningsTotal: 0,
  });
  const { body } = await details('&versionName=v1');
  assert.deepEqual(body.assets, ['a.csv', 'b/readme.md', 'main.orch.yaml']);
  const now = server.clock.now().toISOString();
  const { digest, ...shown } = body.details;
  assert.match(digest, /^[0-9a-f]{64}$/);
  assert.deepEqual(shown, {
    branch: 'main',
    commitHash: 'abc',
    createdAt: now,
    deployedAt: now,
    enabled: true,
    provider: 'headgate',
    versionName: 'v1',
  });
});

test('branch and commit are absent if they were not sent', async () => {
  const { admin, project: made, details } = await createProject();
  await upload(admin, made, [buildPart('a')]);
  const { body } = await details();
  assert.ok(!('branch' in body.details) && !('commitHash' in body.details));
});

test('an upload requires an environment name and a version name', async () => {
  const { admin, project: made, artifacts } = await createProject();
  const type = `multipart/form-data; boundary=${multipartBoundary}`;
  const without = await admin.post(artifacts, buildMultipart([buildPart('a')]), {
    headers: { 'content-type': type },
  });
  const { violations } = requireProblem(without, 400, 'invalid-request');
  assert.equal(violations?.length, 2);
  requireProblem(
    await upload(admin, made, [buildPart('a')], { environmentName: '-' }),
    400,
    'invalid-request',
  );
  requireProblem(
    await upload(admin, made, [buildPart('a')], { environmentName: 'uat' }),
    404,
    'environment-not-found',
  );
});

test('header names are case-insensitive, and problems contain their documented spelling', async () => {
  const { admin, project: made, artifacts } = await createProject();
  const headers = { 'content-type': `multipart/form-data; boundary=${multipartBoundary}` };
  const form = buildMultipart([buildPart('a')]);
  const { violations } = requireProblem(
    await admin.post(artifacts, form, { headers }),
    400,
    'invalid-request',
  );
  assert.deepEqual(violations, ['headers.environmentName: is required', 'headers.versionName: is required']);
  const lower = { ...headers, environmentname: 'dev', VERSIONNAME: 'v1' };
  assert.equal((await admin.post(artifacts, form, { headers: lower })).status, 201);
  const { errors } = requireProblem(
    await upload(admin, made, [buildPart('a')], { environmentName: '-' }),
    400,
    'invalid-request',
  );
  assert.equal(errors?.[0]?.pointer, '/headers/environmentName');
});

test('header values may be URL-encoded', async () => {
  const { admin, project: made, artifacts } = await createProject();
  await admin.post(`${made.path}/environments`, { name: 'My Env' });
  const names: [string, string][] = [
    ['My+Env', 'v1'],
    ['My%20Env', 'v2'],
    ['My Env', 'v%203+4'],
  ];
  for (const [environmentName, versionName] of names) {
    const { body } = await upload(admin, made, [buildPart('a')], { environmentName, versionName });
    assert.equal(body.versionName, versionName, 'a valid name is not decoded');
  }
  const branch = 'ü'.repeat(100);
  const long = { environmentName: 'My+Env', versionName: 'v4', branch: encodeURIComponent(branch) };
  assert.equal((await upload(admin, made, [buildPart('a')], long)).status, 201);
  const { body } = await admin.get<Details>(`${artifacts}/details?environmentName=My%20Env`);
  assert.equal(body.details.branch, branch);
  for (const environmentName of ['My%00Env', 'My%0AEnv', 'My%zzEnv', '%E9', 'My%2FEnv', '%2D']) {
    const answer = await upload(admin, made, [buildPart('a')], { environmentName, versionName: 'v5' });
    requireProblem(answer, 400, 'invalid-request');
  }
});

test('files in .git/ are listed as ignored and do not count for the limits', async () => {
  const { admin, project: made, details } = await createProject();
  const git = ['.git/config', '.git', 'a/.GIT/hooks/post-checkout', '.git/x', '.git/x', '.git/y', '.git/z'];
  const parts = [
    buildPart('.gitignore'),
    ...git.map((name) => buildPart(name)),
    buildPart('.git/pack', '\0'.repeat(3_000)),
  ];
  const { body } = await upload(admin, made, [
    ...parts,
    buildPart('a.git/b'),
    buildPart('a'),
    buildPart('b'),
    buildPart('c'),
  ]);
  assert.deepEqual(
    body.ignoredResources.map(({ name }) => name),
    [...git, '.git/pack'],
  );
  assert.match(body.ignoredResources[0]?.reason ?? '', /\.git\//);
  assert.deepEqual((await details()).body.assets, ['.gitignore', 'a', 'a.git/b', 'b', 'c']);
});

test('a version is immutable; another environment may have a version of the same name', async () => {
  const { admin, project: made } = await createProject();
  await upload(admin, made, [buildPart('a')]);
  requireProblem(await upload(admin, made, [buildPart('a')]), 409, 'version-exists');
  assert.equal((await upload(admin, made, [buildPart('b')], { environmentName: 'prod' })).status, 201);
  assert.equal((await upload(admin, made, [buildPart('b')], { versionName: 'v2' })).status, 201);
});

test('files are stored byte for byte', async () => {
  const { account, admin, project: made } = await createProject();
  const contents = [
    '',
    '\ufeffwith a mark\r\nand lines\rof\nall kinds\r\n',
    `\r\n--${multipartBoundary.slice(0, -1)}\r\n`,
    'e\u0301 and \u00e9, \u{1f600}, \ufffd',
    'x'.repeat(1_999),
  ];
  const parts = contents.map((content, index) => buildPart(`${index}`, content));
  assert.deepEqual((await upload(admin, made, parts)).body.ignoredResources, []);
  for (const content of contents) {
    const sha256 = createHash('sha256').update(content).digest('hex');
    const found = await server.deps.blobs.read(account.accountId, sha256);
    assert.ok(found);
    assert.deepEqual(await buffer(found.stream), Buffer.from(content));
    assert.equal(found.size, Buffer.byteLength(content));
  }
});

test('the bytes of a part decide whether it is text, not its content type', async () => {
  const { admin, project: made, details } = await createProject();
  const parts = [
    buildPart('image.png', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff])),
    buildPart('zero.txt', 'a\0b'),
    { name: 'data.bin', content: 'plain', type: 'application/octet-stream' },
    { name: 'a.yaml', content: 'a: 1', type: 'application/vnd.pipeline+yaml' },
  ];
  const { body } = await upload(admin, made, parts);
  assert.deepEqual(
    body.ignoredResources.map((ignored) => ignored.name),
    ['image.png', 'zero.txt'],
  );
  for (const { reason } of body.ignoredResources) assert.match(reason, /not a text file/);
  assert.deepEqual((await details()).body.assets, ['a.yaml', 'data.bin']);
});

test('an unreadable pipeline is ignored, with the line of its fault', async () => {
  const { admin, project: made, details } = await createProject();
  const parts = [
    buildPart('bad.orch.yaml', 'type: "orchestration"\nversion: [\n'),
    buildPart('good.orch.yaml', smallPipeline),
  ];
  const { body } = await upload(admin, made, parts);
  assert.deepEqual(
    body.ignoredResources.map((ignored) => ignored.name),
    ['bad.orch.yaml'],
  );
  assert.match(body.ignoredResources[0]?.reason ?? '', /cannot be read: line \d+, column \d+: ./);
  assert.deepEqual((await details()).body.assets, ['good.orch.yaml']);
});

test('an empty file is stored', async () => {
  const { admin, project: made, details } = await createProject();
  await upload(admin, made, [buildPart('empty.txt', '')]);
  assert.deepEqual((await details()).body.assets, ['empty.txt']);
});

test('an upload without a usable file is refused, and nothing is stored', async () => {
  const { admin, project: made } = await createProject();
  const none = requireProblem(await upload(admin, made, []), 422, 'empty-upload');
  assert.match(none.detail, /the form has no parts/);
  assert.equal(none.violations, undefined);
  const parts = [
    buildPart('.git/HEAD'),
    buildPart('sub/bad~.orch.yaml', 'pipeline: ['),
    buildPart('a.png', 'a\0'),
  ];
  const { detail, violations, errors } = requireProblem(
    await upload(admin, made, parts),
    422,
    'empty-upload',
  );
  assert.match(detail, /no part of the form can be stored, and 3 were ignored/);
  assert.match(violations?.[0] ?? '', /^part "sub\/bad~\.orch\.yaml": The pipeline cannot be read: line 1/);
  assert.deepEqual(
    errors?.map(({ pointer }) => pointer),
    ['/sub~1bad~0.orch.yaml', '/a.png', '/.git~1HEAD'],
  );
  const page = await admin.get<Page<unknown>>(`${made.path}/artifacts?environmentName=dev&enabledOnly=false`);
  assert.equal(page.body.total, 0);
  assert.equal((await upload(admin, made, [buildPart('a')])).status, 201, 'the version name is still free');
});

test('too many parts, a large part and a large request are 413', async () => {
  const { admin, project: made, details } = await createProject();
  const buildParts = (count: number) => Array.from({ length: count }, (_, index) => buildPart(`f${index}`));
  assert.match(
    requireProblem(await upload(admin, made, buildParts(6)), 413, 'body-too-large').detail,
    /at most 5 parts \(HEADGATE_UPLOAD_PARTS\)/,
  );
  const large = requireProblem(
    await upload(admin, made, [buildPart('big', 'x'.repeat(2_001))]),
    413,
    'body-too-large',
  );
  assert.match(large.detail, /the part "big" is larger than 2000 bytes \(HEADGATE_UPLOAD_PART_MB\)/);
  const whole = buildParts(5).map(({ name }) => buildPart(name, 'x'.repeat(1_900)));
  assert.match(
    requireProblem(await upload(admin, made, whole), 413, 'body-too-large').detail,
    /8000 bytes \(HEADGATE_UPLOAD_MB\)/,
  );
  requireProblem(await details(), 404, 'artifact-not-found');
  assert.equal((await upload(admin, made, buildParts(5))).status, 201, 'as many as allowed');
  assert.equal(
    (await upload(admin, made, [buildPart('b', 'x'.repeat(2_000))], { versionName: 'v2' })).status,
    201,
  );
});

test('a truncated or invalid form is refused, and nothing is stored', async () => {
  const { admin, project: made, details } = await createProject();
  const whole = buildMultipart([buildPart('a'), buildPart('b')]);
  const bodies = [
    whole.subarray(0, whole.length - 10),
    whole.subarray(0, 60),
    Buffer.from('no form'),
    Buffer.alloc(0),
  ];
  for (const body of bodies) {
    const answer = await upload(admin, made, body);
    requireProblem(answer, 400, 'invalid-upload');
  }
  requireProblem(await details(), 404, 'artifact-not-found');
});

test('an upload whose client disconnects stores nothing', async () => {
  const { admin, project: made, details } = await createProject();
  const url = new URL(await server.listen());
  const token = await admin.token();
  const socket = connect(Number(url.port), url.hostname);
  socket.on('error', () => undefined);
  const body = buildMultipart([buildPart('a'), buildPart('b')]);
  socket.write(
    `POST /dpc/v1${made.path}/artifacts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\nenvironmentName: dev\r\nversionName: v1\r\n` +
      `content-type: multipart/form-data; boundary=${multipartBoundary}\r\ncontent-length: ${body.length}\r\n\r\n`,
  );
  await new Promise((resolve) => socket.write(body.subarray(0, body.length - 20), () => resolve(undefined)));
  await new Promise((resolve) => socket.end(() => resolve(undefined)));
  // The server closes its side when it has seen the end.
  socket.resume();
  await new Promise((resolve) => (socket.destroyed ? resolve(undefined) : socket.on('close', resolve)));
  requireProblem(await details(), 404, 'artifact-not-found');
  assert.equal((await upload(admin, made, [buildPart('a')])).status, 201);
});

test('another content type is 415', async () => {
  const { admin, project: made } = await createProject();
  for (const type of ['multipart/form-data', 'multipart/mixed; boundary=x', 'application/json']) {
    const answer = await upload(admin, made, [buildPart('a')], { 'content-type': type });
    requireProblem(answer, 415, 'unsupported-media-type');
  }
});

test('versions are listed newest first; disabled ones on request', async () => {
  const { admin, project: made, artifacts } = await createProject();
  for (const versionName of ['v1', 'v2', 'v3']) {
    server.clock.advance(1);
    await upload(admin, made, [buildPart('a')], { versionName });
  }
  await upload(admin, made, [buildPart('a')], { versionName: 'p', environmentName: 'prod' });
  await admin.patch(artifacts, { environmentName: 'dev', versionName: 'v2', enabled: false });
  const list = async (query: string) => {
    const { results, ...rest } = (
      await admin.get<Page<ArtifactDetails>>(`${artifacts}?environmentName=dev${query}`)
    ).body;
    return { ...rest, names: results.map((each) => each.versionName).join(' ') };
  };
  assert.deepEqual(await list(''), { page: 0, size: 25, total: 2, names: 'v3 v1' });
  assert.deepEqual(await list('&enabledOnly=false'), { page: 0, size: 25, total: 3, names: 'v3 v2 v1' });
  assert.deepEqual(await list('&enabledOnly=false&page=1&size=2'), {
    page: 1,
    size: 2,
    total: 3,
    names: 'v1',
  });
  requireProblem(await admin.get(artifacts), 400, 'invalid-request');
  requireProblem(await admin.get(`${artifacts}?environmentName=uat`), 404, 'environment-not-found');
});

test('without a version name, details are of the newest enabled version', async () => {
  const { admin, project: made, artifacts, details } = await createProject();
  requireProblem(await details(), 404, 'artifact-not-found');
  for (const versionName of ['v1', 'v2']) {
    server.clock.advance(1);
    await upload(admin, made, [buildPart(versionName)], { versionName });
  }
  assert.deepEqual((await details()).body.assets, ['v2']);
  await admin.patch(artifacts, { environmentName: 'dev', versionName: 'v2', enabled: false });
  assert.deepEqual((await details()).body.assets, ['v1']);
  assert.equal((await details('&versionName=v2')).body.details.enabled, false);
  requireProblem(await details('&versionName=v9'), 404, 'artifact-not-found');
  requireProblem(await admin.get(`${artifacts}/details`), 400, 'invalid-request');
  requireProblem(await admin.get(`${artifacts}/details?environmentName=uat`), 404, 'environment-not-found');
});
