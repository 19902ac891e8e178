/** Comparing two versions, and reading single files. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { requireProblem } from '../../../testing/client.ts';
import { smallPipeline, upload } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');

interface Comparison {
  added: string[];
  removed: string[];
  changed: string[];
  digest: string;
  againstDigest: string;
}

async function uploadTwoVersions(one: Record<string, string>, other: Record<string, string>) {
  const account = await server.account();
  const { admin } = account;
  const project = await account.project();
  const parts = (files: Record<string, string>) =>
    Object.entries(files).map(([name, content]) => ({ name, content }));
  await upload(admin, project, parts(one), { versionName: 'old' });
  server.clock.advance(1);
  await upload(admin, project, parts(other), { versionName: 'new', environmentName: 'prod' });
  const artifacts = `${project.path}/artifacts`;
  const sides = {
    environmentName: 'prod',
    versionName: 'new',
    againstEnvironmentName: 'dev',
    againstVersionName: 'old',
  };
  const compare = (change: Partial<typeof sides> = {}) =>
    admin.get<Comparison>(`${artifacts}/compare?${new URLSearchParams({ ...sides, ...change })}`);
  const readAsset = (path: string, query: Record<string, string> = {}, headers = {}, method = 'GET') => {
    const search = new URLSearchParams({ environmentName: 'dev', path, ...query });
    return admin.send<never>(method, `${artifacts}/assets?${search}`, { headers });
  };
  return { account, admin, project, artifacts, compare, readAsset };
}

test('a comparison lists added, removed and changed files by path', async () => {
  const { compare } = await uploadTwoVersions(
    { 'same.txt': 'x', 'gone.txt': 'x', 'a/changed.txt': 'old', 'moved/from.txt': 'm' },
    { 'same.txt': 'x', 'new ü.txt': 'x', 'Z.txt': 'x', 'a/changed.txt': 'new', 'moved/to.txt': 'm' },
  );
  const { digest, againstDigest, ...difference } = (await compare()).body;
  assert.deepEqual(difference, {
    added: ['Z.txt', 'moved/to.txt', 'new ü.txt'],
    removed: ['gone.txt', 'moved/from.txt'],
    changed: ['a/changed.txt'],
  });
  assert.notEqual(digest, againstDigest);
  const swapped = { environmentName: 'dev', versionName: 'old' };
  const back = await compare({
    ...swapped,
    againstEnvironmentName: 'prod',
    againstVersionName: 'new',
  });
  assert.deepEqual(
    [back.body.added, back.body.removed, back.body.digest],
    [difference.removed, difference.added, againstDigest],
  );
});

test('two versions with the same files have the same digest and no differences', async () => {
  const { compare } = await uploadTwoVersions({ a: 'x', b: 'y' }, { b: 'y', a: 'x' });
  const { digest, againstDigest, ...difference } = (await compare()).body;
  assert.match(digest, /^[0-9a-f]{64}$/);
  assert.equal(digest, againstDigest);
  assert.deepEqual(difference, { added: [], removed: [], changed: [] });
});

test('the problem names the missing environment or version', async () => {
  const { compare } = await uploadTwoVersions({ a: 'x' }, { a: 'y' });
  for (const member of ['environmentName', 'againstEnvironmentName'] as const) {
    const { detail } = requireProblem(await compare({ [member]: 'uat' }), 404, 'environment-not-found');
    assert.match(detail, /"uat"/);
  }
  for (const member of ['versionName', 'againstVersionName'] as const) {
    const { detail } = requireProblem(await compare({ [member]: 'v9' }), 404, 'artifact-not-found');
    assert.match(detail, /"v9"/);
  }
  // Each version is looked up in its own environment.
  requireProblem(await compare({ environmentName: 'dev' }), 404, 'artifact-not-found');
});

test('versions of 10,000 files are compared', async () => {
  const { project, compare } = await uploadTwoVersions({ a: 'x' }, { a: 'y' });
  for (const [versionName, first, change] of [['old', 0, 0] as const, ['new', 100, 50_000] as const]) {
    const files = Array.from({ length: 10_000 }, (_, index) => ({
      path: `folder/a file of some length ${index + first}.sql`,
      sha256: `${index + first + ((index + first) % 1_000 === 0 ? change : 0)}`.padStart(64, '0'),
    }));
    await server.database.query(
      `with chunk as (
         insert into manifest_chunk (account_id, digest, paths, digests, sizes)
         select account_id, convert_to($2, 'UTF8'), $3, array(select decode(d, 'hex') from unnest($4::text[]) d), array[1]
         from project where project_id = $1 returning account_id, digest)
       insert into manifest (account_id, digest, chunks, pipelines, created_at)
       select account_id, $2, array[digest], '[]', now() from chunk`,
      [
        project.projectId,
        `files of ${versionName}`,
        files.map(({ path }) => path),
        files.map(({ sha256 }) => sha256),
      ],
    );
    await server.database.query(
      'update artifact_version set manifest_digest = $3 where project_id = $1 and version_name = $2',
      [project.projectId, versionName, `files of ${versionName}`],
    );
  }
  const { added, removed, changed } = (await compare()).body;
  assert.deepEqual([added.length, removed.length, changed.length], [100, 100, 9]);
});

test('a file is returned byte for byte as an attachment; its ETag is its SHA-256', async () => {
  const page = '<script>alert(1)</script>\r\n\ufeffäöü\n';
  const { readAsset } = await uploadTwoVersions(
    { 'docs/a \\"page\\" ü.html': page, 'main.orch.yaml': smallPipeline, empty: '' },
    { a: 'x' },
  );
  const answer = await readAsset('docs/a "page" ü.html');
  assert.equal(answer.status, 200);
  assert.equal(answer.text, page);
  const { headers } = answer;
  assert.equal(headers.etag, `"${sha256(page)}"`);
  assert.equal(headers['content-type'], 'text/plain; charset=utf-8');
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.equal(
    headers['content-disposition'],
    `attachment; filename="a _page_ _.html"; filename*=UTF-8''a%20%22page%22%20%C3%BC.html`,
  );
  assert.equal(headers['content-length'], String(Buffer.byteLength(page)));
  assert.equal((await readAsset('main.orch.yaml')).text, smallPipeline);
  assert.equal((await readAsset('empty')).text, '');
});

test('a file with a matching If-None-Match is not sent', async () => {
  const { readAsset } = await uploadTwoVersions({ a: 'x' }, { a: 'x' });
  const etag = `"${sha256('x')}"`;
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const answer = await readAsset('a', {}, { 'if-none-match': known });
    assert.deepEqual([answer.status, answer.text, answer.headers.etag], [304, '', etag], known);
  }
  assert.equal((await readAsset('a', {}, { 'if-none-match': '"other"' })).text, 'x');
});

test('HEAD returns the ETag and length of a file', async () => {
  const { readAsset } = await uploadTwoVersions({ a: 'some text' }, { a: 'x' });
  const { status, text, headers } = await readAsset('a', {}, {}, 'HEAD');
  assert.deepEqual([status, text], [200, '']);
  assert.deepEqual([headers['content-length'], headers.etag], ['9', `"${sha256('some text')}"`]);
});

test('a file is returned for any Accept header', async () => {
  const { readAsset } = await uploadTwoVersions({ a: 'x' }, { a: 'x' });
  for (const accept of ['text/plain', '*/*', 'application/octet-stream', 'application/json'])
    assert.equal((await readAsset('a', {}, { accept })).text, 'x');
});

test('without a version name, the file is of the newest enabled version', async () => {
  const { admin, project, artifacts, readAsset } = await uploadTwoVersions({ a: 'first' }, { a: 'x' });
  await upload(admin, project, [{ name: 'a', content: 'second' }], { versionName: 'second' });
  assert.equal((await readAsset('a')).text, 'second');
  assert.equal((await readAsset('a', { versionName: 'old' })).text, 'first');
  await admin.patch(artifacts, { environmentName: 'dev', versionName: 'second', enabled: false });
  assert.equal((await readAsset('a')).text, 'first');
  assert.equal((await readAsset('a', { versionName: 'second' })).text, 'second');
});

test('a missing file is named in the problem, and only files of the version are returned', async () => {
  const { readAsset } = await uploadTwoVersions({ a: 'x', 'b/c': 'y' }, { a: 'x' });
  for (const path of ['A', 'b', 'b/', '/a', './a', '../a', 'b/../a', '$[*]', '"a"', 'x'.repeat(1_024)]) {
    const { detail } = requireProblem(await readAsset(path), 404, 'asset-not-found');
    assert.ok(detail.includes(JSON.stringify(path)), detail);
  }
  requireProblem(await readAsset('a', { versionName: 'v9' }), 404, 'artifact-not-found');
  requireProblem(await readAsset('a', { environmentName: 'uat' }), 404, 'environment-not-found');
  requireProblem(await readAsset(''), 400, 'invalid-request');
});

test('a large file is not compressed, so its bytes match the ETag', async () => {
  const large = 'a line of a file\n'.repeat(5_000);
  const { readAsset } = await uploadTwoVersions({ a: large }, { a: 'x' });
  const answer = await readAsset('a', {}, { 'accept-encoding': 'br, gzip' });
  assert.equal(answer.headers['content-encoding'], undefined);
  assert.equal(sha256(answer.text), answer.etag.slice(1, -1));
});
