/** E10 to E12: versions of a project's files. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import type { ArtifactDetails, Page } from '@headgate/contract';
import { requireProblem } from '../../testing/client.ts';
import {
  buildMultipart,
  multipartBoundary,
  type Part,
  smallPipeline,
  upload,
} from '../../testing/project.ts';
import { startTestServer } from '../../testing/server.ts';

const server = await startTestServer({
  config: { upload: { parts: 5, partBytes: 2_000, requestBytes: 8_000 } },
});
type Details = { assets: string[]; details: ArtifactDetails };

async function project() {
  const account = await server.account();
  const made = await account.project();
  const artifacts = `${made.path}/artifacts`;
  const details = (query = '') =>
    account.admin.get<Details>(`${artifacts}/details?environmentName=dev${query}`);
  return { account, admin: account.admin, project: made, artifacts, details };
}
const text = (name: string, content: string | Buffer = 'x'): Part => ({ name, content });

test('a version is uploaded and read back with the paths of its files', async () => {
  const { admin, project: made, details } = await project();
  const parts = [text('b/readme.md', '# Größe'), text('main.orch.yaml', smallPipeline), text('a.csv')];
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
  assert.deepEqual(body.details, {
    branch: 'main',
    commitHash: 'abc',
    createdAt: now,
    deployedAt: now,
    enabled: true,
    provider: 'headgate',
    versionName: 'v1',
  });
});

test('branch and commit are absent when they were not given', async () => {
  const { admin, project: made, details } = await project();
  await upload(admin, made, [text('a')]);
  const { body } = await details();
  assert.ok(!('branch' in body.details) && !('commitHash' in body.details));
});

test('an upload names its environment and its version', async () => {
  const { admin, project: made, artifacts } = await project();
  const type = `multipart/form-data; boundary=${multipartBoundary}`;
  const without = await admin.post(artifacts, buildMultipart([text('a')]), {
    headers: { 'content-type': type },
  });
  const { violations } = requireProblem(without, 400, 'invalid-request');
  assert.equal(violations?.length, 2);
  requireProblem(await upload(admin, made, [text('a')], { environmentName: '-' }), 400, 'invalid-request');
  requireProblem(
    await upload(admin, made, [text('a')], { environmentName: 'uat' }),
    404,
    'environment-not-found',
  );
});

test('headers are named as they are written in the interface, in any case', async () => {
  const { admin, project: made, artifacts } = await project();
  const headers = { 'content-type': `multipart/form-data; boundary=${multipartBoundary}` };
  const form = buildMultipart([text('a')]);
  const { violations } = requireProblem(
    await admin.post(artifacts, form, { headers }),
    400,
    'invalid-request',
  );
  assert.deepEqual(violations, ['headers.environmentName: is required', 'headers.versionName: is required']);
  const lower = { ...headers, environmentname: 'dev', VERSIONNAME: 'v1' };
  assert.equal((await admin.post(artifacts, form, { headers: lower })).status, 201);
  const { errors } = requireProblem(
    await upload(admin, made, [text('a')], { environmentName: '-' }),
    400,
    'invalid-request',
  );
  assert.equal(errors?.[0]?.pointer, '/headers/environmentName');
});

test('headers are read URL-encoded where they are not valid as they are', async () => {
  const { admin, project: made, artifacts } = await project();
  await admin.post(`${made.path}/environments`, { name: 'My Env' });
  const names: [string, string][] = [
    ['My+Env', 'v1'],
    ['My%20Env', 'v2'],
    ['My Env', 'v%203+4'],
  ];
  for (const [environmentName, versionName] of names) {
    const { body } = await upload(admin, made, [text('a')], { environmentName, versionName });
    assert.equal(body.versionName, versionName, 'a valid name is taken as it is');
  }
  const branch = 'ü'.repeat(100);
  const long = { environmentName: 'My+Env', versionName: 'v4', branch: encodeURIComponent(branch) };
  assert.equal((await upload(admin, made, [text('a')], long)).status, 201);
  const { body } = await admin.get<Details>(`${artifacts}/details?environmentName=My%20Env`);
  assert.equal(body.details.branch, branch);
  for (const environmentName of ['My%00Env', 'My%0AEnv', 'My%zzEnv', '%E9', 'My%2FEnv', '%2D']) {
    const answer = await upload(admin, made, [text('a')], { environmentName, versionName: 'v5' });
    requireProblem(answer, 400, 'invalid-request');
  }
});

test("git's own files are listed as ignored, and count for no limit", async () => {
  const { admin, project: made, details } = await project();
  const git = ['.git/config', '.git', 'a/.GIT/hooks/post-checkout', '.git/x', '.git/x', '.git/y', '.git/z'];
  const parts = [text('.gitignore'), ...git.map((name) => text(name)), text('.git/pack', '\0'.repeat(3_000))];
  const { body } = await upload(admin, made, [...parts, text('a.git/b'), text('a'), text('b'), text('c')]);
  assert.deepEqual(
    body.ignoredResources.map(({ name }) => name),
    [...git, '.git/pack'],
  );
  assert.match(body.ignoredResources[0]?.reason ?? '', /git's own data/);
  assert.deepEqual((await details()).body.assets, ['.gitignore', 'a', 'a.git/b', 'b', 'c']);
});

test('a version is immutable in its environment, and another environment may have it too', async () => {
  const { admin, project: made } = await project();
  await upload(admin, made, [text('a')]);
  requireProblem(await upload(admin, made, [text('a')]), 409, 'version-exists');
  assert.equal((await upload(admin, made, [text('b')], { environmentName: 'prod' })).status, 201);
  assert.equal((await upload(admin, made, [text('b')], { versionName: 'v2' })).status, 201);
});

const hostile: [string, RegExp][] = [
  ['/etc/passwd', /absolute/],
  ['C:/windows', /absolute/],
  ['../up', /"\.\."/],
  ['a/../../b', /"\.\."/],
  ['a/..', /"\.\."/],
  ['..', /"\.\."/],
  ['a\\\\b', /backslash/],
  ['..\\\\..\\\\b', /backslash/],
  ['a\tb', /control/],
  ['a\u0001b', /control/],
  ['a\u007fb', /control/],
  ['a\u0085b', /control/],
  ['', /empty/],
  ['a//b', /empty/],
  ['a/', /empty/],
  ['x'.repeat(1_025), /1024 bytes/],
  ['é'.repeat(513), /1024 bytes/],
  ['x'.repeat(5_000), /1024 bytes/],
  ['a\0b', /control/],
  ['\0', /control/],
  ['a/./b', /"\."/],
  ['.git/../up', /"\.\."/],
];

test('a name that would be dangerous to unpack is refused and nothing is stored', async () => {
  const { admin, project: made, details } = await project();
  for (const [name, reason] of hostile) {
    const answer = await upload(admin, made, [text('good'), text(name), text('also good')]);
    const { detail } = requireProblem(answer, 400, 'invalid-asset-name');
    assert.match(detail, reason, JSON.stringify(name));
  }
  requireProblem(await details(), 404, 'artifact-not-found');
  assert.equal(
    (await upload(admin, made, [text('x'.repeat(1_024)), text('...'), text('a b/ü.txt')])).status,
    201,
  );
});

test('a part that cannot be told is refused, never dropped', async () => {
  const { admin, project: made, details } = await project();
  const headers = [
    'content-disposition: form-data',
    'content-disposition: form-data; filename="a.txt"',
    'content-disposition: attachment; name="a.txt"',
    'content-type: text/plain',
    'content-disposition: form-data; name="a.txt"\r\ncontent-disposition: form-data; name="b.txt"',
    'content-disposition: form-data; name="a\nb"',
    'content-disposition: form-data; filename="x; name=a.txt"',
    "content-disposition: form-data; name*=utf-8''a.txt",
  ];
  for (const header of headers) {
    const body = Buffer.from(
      `--${multipartBoundary}\r\n${header}\r\n\r\nx\r\n--${multipartBoundary}\r\ncontent-disposition: form-data; name="ok"\r\n\r\nx\r\n--${multipartBoundary}--\r\n`,
    );
    const answer = await upload(admin, made, body);
    assert.equal(answer.status, 400, `${JSON.stringify(header)}: ${answer.text}`);
  }
  requireProblem(await details(), 404, 'artifact-not-found');
});

test('a name that is not UTF-8 is refused', async () => {
  const { admin, project: made } = await project();
  const body = buildMultipart([text('a\u00ffb')]).toString('latin1');
  const answer = await upload(admin, made, Buffer.from(body.replace('\u00c3\u00bf', '\u00ff'), 'latin1'));
  assert.match(requireProblem(answer, 400, 'invalid-upload').detail, /part number 1 are not UTF-8/);
});

test('a name is not looked for in the value of another parameter', async () => {
  const { admin, project: made, details } = await project();
  const header = 'content-disposition: form-data; filename="x; name=\\"evil\\"; name=worse"; name="good.txt"';
  const body = `--${multipartBoundary}\r\n${header}\r\n\r\nx\r\n--${multipartBoundary}--\r\n`;
  assert.equal((await upload(admin, made, Buffer.from(body))).status, 201);
  assert.deepEqual((await details()).body.assets, ['good.txt']);
});

test('what is stored is what was sent, byte for byte', async () => {
  const { account, admin, project: made } = await project();
  const contents = [
    '',
    '\ufeffwith a mark\r\nand lines\rof\nall kinds\r\n',
    `\r\n--${multipartBoundary.slice(0, -1)}\r\n`,
    'e\u0301 and \u00e9, \u{1f600}, \ufffd',
    'x'.repeat(1_999),
  ];
  const parts = contents.map((content, index) => text(`${index}`, content));
  assert.deepEqual((await upload(admin, made, parts)).body.ignoredResources, []);
  for (const content of contents) {
    const sha256 = createHash('sha256').update(content).digest('hex');
    const found = await server.deps.blobs.read(account.accountId, sha256);
    assert.ok(found);
    assert.deepEqual(await buffer(found.stream), Buffer.from(content));
    assert.equal(found.size, Buffer.byteLength(content));
  }
});

test('two parts of one name are refused, in whatever Unicode form they come', async () => {
  const { admin, project: made } = await project();
  const twins = [
    ['a.txt', 'a.txt'],
    ['caf\u00e9.txt', 'cafe\u0301.txt'],
    ['\uac00', '\u1100\u1161'],
  ];
  for (const [one = '', other = ''] of twins) {
    const { detail } = requireProblem(
      await upload(admin, made, [text(one), text(other)]),
      400,
      'invalid-asset-name',
    );
    assert.match(detail, /same name/);
  }
});

test('whether a part is text is decided by its bytes, not by its type', async () => {
  const { admin, project: made, details } = await project();
  const parts = [
    text('image.png', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff])),
    text('zero.txt', 'a\0b'),
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

test('a pipeline that cannot be read is ignored with the line of its fault', async () => {
  const { admin, project: made, details } = await project();
  const parts = [
    text('bad.orch.yaml', 'type: "orchestration"\nversion: [\n'),
    text('good.orch.yaml', smallPipeline),
  ];
  const { body } = await upload(admin, made, parts);
  assert.deepEqual(
    body.ignoredResources.map((ignored) => ignored.name),
    ['bad.orch.yaml'],
  );
  assert.match(body.ignoredResources[0]?.reason ?? '', /cannot be read: line \d+, column \d+: ./);
  assert.deepEqual((await details()).body.assets, ['good.orch.yaml']);
});

test('an empty file is a file of a version', async () => {
  const { admin, project: made, details } = await project();
  await upload(admin, made, [text('empty.txt', '')]);
  assert.deepEqual((await details()).body.assets, ['empty.txt']);
});

test('an upload of which no file is kept is refused, and nothing is stored', async () => {
  const { admin, project: made } = await project();
  const none = requireProblem(await upload(admin, made, []), 422, 'empty-upload');
  assert.match(none.detail, /the form has no parts/);
  assert.equal(none.violations, undefined);
  const parts = [text('.git/HEAD'), text('sub/bad~.orch.yaml', 'pipeline: ['), text('a.png', 'a\0')];
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
  assert.equal((await upload(admin, made, [text('a')])).status, 201, 'the name of the version is free');
});

test('a part that is also the folder of another one is refused', async () => {
  const { admin, project: made } = await project();
  const cases = [
    ['a', 'a/b'],
    ['a/b', 'a'],
    ['a', 'a.txt', 'a-b', 'a/b/c'],
    ['caf\u00e9/b', 'cafe\u0301'],
  ];
  for (const names of cases) {
    const answer = await upload(
      admin,
      made,
      names.map((name) => text(name)),
    );
    const { detail } = requireProblem(answer, 400, 'invalid-asset-name');
    assert.match(detail, /^The part named "[^"]+\/[^"]+" cannot be stored: the part "[^"/]+" is a file/);
  }
  const sound = await upload(
    admin,
    made,
    ['a.b', 'a b/c', 'ab', 'd/e', 'd-'].map((name) => text(name)),
  );
  assert.equal(sound.status, 201, sound.text);
});

test('the limits are 413: parts, bytes of a part, bytes of a request', async () => {
  const { admin, project: made, details } = await project();
  const many = (count: number) => Array.from({ length: count }, (_, index) => text(`f${index}`));
  assert.match(
    requireProblem(await upload(admin, made, many(6)), 413, 'body-too-large').detail,
    /at most 5 parts \(HEADGATE_UPLOAD_PARTS\)/,
  );
  const large = requireProblem(
    await upload(admin, made, [text('big', 'x'.repeat(2_001))]),
    413,
    'body-too-large',
  );
  assert.match(large.detail, /the part "big" is larger than 2000 bytes \(HEADGATE_UPLOAD_PART_MB\)/);
  const whole = many(5).map(({ name }) => text(name, 'x'.repeat(1_900)));
  assert.match(
    requireProblem(await upload(admin, made, whole), 413, 'body-too-large').detail,
    /8000 bytes \(HEADGATE_UPLOAD_MB\)/,
  );
  requireProblem(await details(), 404, 'artifact-not-found');
  assert.equal((await upload(admin, made, many(5))).status, 201, 'as many as allowed');
  assert.equal(
    (await upload(admin, made, [text('b', 'x'.repeat(2_000))], { versionName: 'v2' })).status,
    201,
  );
});

test('a form that is cut off or broken is refused and leaves nothing', async () => {
  const { admin, project: made, details } = await project();
  const whole = buildMultipart([text('a'), text('b')]);
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

test('an upload whose client goes away leaves nothing', async () => {
  const { admin, project: made, details } = await project();
  const url = new URL(await server.listen());
  const token = await admin.token();
  const socket = connect(Number(url.port), url.hostname);
  socket.on('error', () => undefined);
  const body = buildMultipart([text('a'), text('b')]);
  socket.write(
    `POST /dpc/v1${made.path}/artifacts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\nenvironmentName: dev\r\nversionName: v1\r\n` +
      `content-type: multipart/form-data; boundary=${multipartBoundary}\r\ncontent-length: ${body.length}\r\n\r\n`,
  );
  await new Promise((resolve) => socket.write(body.subarray(0, body.length - 20), () => resolve(undefined)));
  await new Promise((resolve) => socket.end(() => resolve(undefined)));
  // The server has seen the end when it closes its side.
  socket.resume();
  await new Promise((resolve) => (socket.destroyed ? resolve(undefined) : socket.on('close', resolve)));
  requireProblem(await details(), 404, 'artifact-not-found');
  assert.equal((await upload(admin, made, [text('a')])).status, 201);
});

test('a form of another type is 415', async () => {
  const { admin, project: made } = await project();
  for (const type of ['multipart/form-data', 'multipart/mixed; boundary=x', 'application/json']) {
    const answer = await upload(admin, made, [text('a')], { 'content-type': type });
    requireProblem(answer, 415, 'unsupported-media-type');
  }
});

test('versions are listed newest first; disabled ones when asked for', async () => {
  const { admin, project: made, artifacts } = await project();
  for (const versionName of ['v1', 'v2', 'v3']) {
    server.clock.advance(1);
    await upload(admin, made, [text('a')], { versionName });
  }
  await upload(admin, made, [text('a')], { versionName: 'p', environmentName: 'prod' });
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

test('details without a version are those of the newest enabled one', async () => {
  const { admin, project: made, artifacts, details } = await project();
  requireProblem(await details(), 404, 'artifact-not-found');
  for (const versionName of ['v1', 'v2']) {
    server.clock.advance(1);
    await upload(admin, made, [text(versionName)], { versionName });
  }
  assert.deepEqual((await details()).body.assets, ['v2']);
  await admin.patch(artifacts, { environmentName: 'dev', versionName: 'v2', enabled: false });
  assert.deepEqual((await details()).body.assets, ['v1']);
  assert.equal((await details('&versionName=v2')).body.details.enabled, false);
  requireProblem(await details('&versionName=v9'), 404, 'artifact-not-found');
  requireProblem(await admin.get(`${artifacts}/details`), 400, 'invalid-request');
  requireProblem(await admin.get(`${artifacts}/details?environmentName=uat`), 404, 'environment-not-found');
});
