/** Promoting, enabling and disabling versions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccountEventItem, ArtifactDetails, Page } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { smallPipeline, upload } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
type Details = { assets: string[]; details: ArtifactDetails };

async function deliverVersion() {
  const account = await server.account();
  const { admin } = account;
  const project = await account.project();
  const artifacts = `${project.path}/artifacts`;
  const parts = [{ name: 'main.orch.yaml', content: smallPipeline }];
  await upload(admin, project, parts, { branch: 'main', commitHash: 'abc' });
  server.clock.advance(60);
  const details = (environmentName: string, versionName = 'v1') =>
    admin.get<Details>(`${artifacts}/details?environmentName=${environmentName}&versionName=${versionName}`);
  const promotion = { versionName: 'v1', sourceEnvironmentName: 'dev', targetEnvironmentName: 'prod' };
  const promote = (change: Partial<typeof promotion> & { digest?: string } = {}, by = admin, headers = {}) =>
    by.post(`${artifacts}/promotions`, { ...promotion, ...change }, { headers });
  const enable = (enabled: boolean, change: object = {}, headers = {}) =>
    admin.patch(artifacts, { environmentName: 'dev', versionName: 'v1', enabled, ...change }, { headers });
  const totals = async (environmentName: string) => {
    const total = async (enabledOnly: boolean) => {
      const query = `environmentName=${environmentName}&enabledOnly=${enabledOnly}`;
      return (await admin.get<Page<ArtifactDetails>>(`${artifacts}?${query}`)).body.total;
    };
    return { all: await total(false), enabled: await total(true) };
  };
  const events = async (name: string) => {
    const range = 'from=2020-01-01T00:00:00.000Z&to=2100-01-01T00:00:00.000Z';
    return (await admin.get<Page<AccountEventItem>>(`/events?${range}&eventName=${name}`)).body.results;
  };
  return { account, admin, project, artifacts, details, promote, enable, totals, events };
}

test('a promotion copies the files and the name of a version, and records its source', async () => {
  const { admin, artifacts, details, promote } = await deliverVersion();
  const answer = await promote();
  assert.equal(answer.status, 201);
  assert.deepEqual(answer.body, { environmentName: 'prod', versionName: 'v1' });
  const [source, target] = [(await details('dev')).body, (await details('prod')).body];
  const now = server.clock.now().toISOString();
  assert.deepEqual(target.assets, source.assets);
  assert.deepEqual(target.details, {
    ...source.details,
    deployedAt: now,
    promotedFrom: { environmentName: 'dev', promotedAt: now, promotedBy: admin.actorId },
  });
  assert.notEqual(source.details.createdAt, now);
  assert.ok(!('promotedFrom' in source.details));
  const sides = 'environmentName=prod&versionName=v1&againstEnvironmentName=dev&againstVersionName=v1';
  const compared = await admin.get<Record<string, unknown>>(`${artifacts}/compare?${sides}`);
  const { digest, againstDigest, ...difference } = compared.body;
  assert.equal(digest, againstDigest);
  assert.deepEqual(difference, { added: [], removed: [], changed: [] });
});

test('a promotion can name the version that was seen, by its digest or its ETag, and is 412 for another one', async () => {
  const { admin, project, artifacts, details, promote, enable } = await deliverVersion();
  const { digest } = (await details('dev')).body.details;
  const listed = await admin.get<Page<ArtifactDetails>>(`${artifacts}?environmentName=dev`);
  assert.equal(listed.body.results[0]?.digest, digest);
  const { etag } = await details('dev');
  const by = (tag: string) => promote({}, admin, { 'if-match': tag });
  await admin.delete(`${project.path}/environments/dev?confirm=true`);
  await admin.post(`${project.path}/environments`, { name: 'dev' });
  await upload(admin, project, [{ name: 'other.orch.yaml', content: smallPipeline }]);
  for (const stale of [await promote({ digest }), await by(`"${digest}"`), await by(etag)])
    requireProblem(stale, 412, 'digest-mismatch');
  const seen = await details('dev');
  await enable(false);
  requireProblem(await by(seen.etag), 412, 'digest-mismatch');
  await enable(true);
  assert.equal((await promote({ digest: seen.body.details.digest })).status, 201);
  await admin.delete(`${project.path}/environments/prod?confirm=true`);
  for (const tag of [`"${seen.body.details.digest}"`, seen.etag, '*']) {
    await admin.post(`${project.path}/environments`, { name: 'prod' });
    const promoted = await by(`"other", ${tag}`);
    assert.equal(promoted.status, 201, promoted.text);
    await admin.delete(`${project.path}/environments/prod?confirm=true`);
  }
});

test('the source of a second promotion is the environment before, even after that is deleted', async () => {
  const { admin, project, details, promote } = await deliverVersion();
  await admin.post(`${project.path}/environments`, { name: 'uat' });
  await promote({ targetEnvironmentName: 'uat' });
  await promote({ sourceEnvironmentName: 'uat' });
  await admin.delete(`${project.path}/environments/uat?confirm=true`);
  const { promotedFrom, createdAt } = (await details('prod')).body.details;
  assert.equal(promotedFrom?.environmentName, 'uat');
  assert.equal(createdAt, (await details('dev')).body.details.createdAt);
});

test('the event of a promotion contains actor, time, source and files', async () => {
  const { admin, promote, events } = await deliverVersion();
  await promote();
  const [event] = await events('artifact-promoted');
  assert.deepEqual(
    [event?.actorId, event?.eventTimestamp, event?.eventSubjectName],
    [admin.actorId, server.clock.now().toISOString(), 'v1'],
  );
  const after = event?.additionalInfo.after as Record<string, unknown>;
  assert.equal(after.environmentName, 'prod');
  assert.match(String(after.digest), /^[0-9a-f]{64}$/);
  assert.equal((after.promotedFrom as Record<string, unknown>).environmentName, 'dev');
});

test('an invalid promotion is refused with the reason', async () => {
  const { promote, enable, totals } = await deliverVersion();
  requireProblem(await promote({ versionName: 'v2' }), 404, 'artifact-not-found');
  requireProblem(await promote({ sourceEnvironmentName: 'uat' }), 404, 'environment-not-found');
  requireProblem(await promote({ targetEnvironmentName: 'uat' }), 404, 'environment-not-found');
  requireProblem(await promote({ targetEnvironmentName: 'dev' }), 422, 'promotion-to-itself');
  await enable(false);
  requireProblem(await promote(), 410, 'artifact-disabled');
  await enable(true);
  assert.equal((await promote()).status, 201);
  const { detail } = requireProblem(await promote(), 409, 'version-exists');
  assert.match(detail, /"v1" already exists in the environment "prod"/);
  assert.deepEqual(await totals('prod'), { all: 1, enabled: 1 });
});

test('of two concurrent promotions, one succeeds', async () => {
  const { promote, totals, events } = await deliverVersion();
  const answers = await Promise.all(Array.from({ length: 6 }, () => promote()));
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [201, 409, 409, 409, 409, 409]);
  assert.deepEqual(await totals('prod'), { all: 1, enabled: 1 });
  assert.equal((await events('artifact-promoted')).length, 1);
});

test('a promotion repeated with its idempotency key gets the same response', async () => {
  const { promote, totals } = await deliverVersion();
  const key = { 'idempotency-key': 'promote v1' };
  const [first, again] = [await promote({}, undefined, key), await promote({}, undefined, key)];
  assert.deepEqual([first.status, again.status, again.text], [201, 201, first.text]);
  assert.equal(again.headers['idempotency-replayed'], 'true');
  assert.deepEqual(await totals('prod'), { all: 1, enabled: 1 });
});

test('a promotion requires the right in the target and read access to the source', async () => {
  const { account, project, promote } = await deliverVersion();
  const { projectId } = project;
  const inProject = (role: 'VIEWER' | 'CONTRIBUTOR') => ({ projectId, role });
  const inEnvironment = (environmentName: string, role: 'CONTRIBUTOR' | 'OPERATOR') => ({
    projectId,
    environmentName,
    role,
  });
  const by = async (...grants: Parameters<typeof account.actor>[1][]) =>
    promote({}, await account.actor('MEMBER', ...grants));
  requireProblem(await by(), 404, 'project-not-found');
  requireProblem(await by(inProject('VIEWER')), 403, 'forbidden');
  requireProblem(await by(inProject('VIEWER'), inEnvironment('dev', 'CONTRIBUTOR')), 403, 'forbidden');
  const { detail } = requireProblem(await by(inEnvironment('prod', 'CONTRIBUTOR')), 403, 'forbidden');
  assert.match(detail, /read a project/);
  const operator = [inEnvironment('dev', 'OPERATOR'), inEnvironment('prod', 'CONTRIBUTOR')];
  requireProblem(await by(...operator), 403, 'forbidden');
  assert.equal((await by(inProject('VIEWER'), inEnvironment('prod', 'CONTRIBUTOR'))).status, 201);
  const both = [inEnvironment('dev', 'CONTRIBUTOR'), inEnvironment('prod', 'CONTRIBUTOR')];
  requireProblem(await by(...both), 409, 'version-exists');
  requireProblem(await by(inProject('CONTRIBUTOR')), 409, 'version-exists');
});

test('a version is disabled and enabled again, each with an event', async () => {
  const { enable, details, totals, events } = await deliverVersion();
  const answer = await enable(false);
  assert.deepEqual(
    [answer.status, answer.body],
    [200, { environmentName: 'dev', versionName: 'v1', enabled: false }],
  );
  assert.equal((await details('dev')).body.details.enabled, false);
  assert.deepEqual(await totals('dev'), { all: 1, enabled: 0 });
  assert.equal((await enable(false)).status, 200, 'repeating it changes nothing');
  assert.deepEqual(await totals('dev'), { all: 1, enabled: 0 });
  await enable(true);
  assert.deepEqual(await totals('dev'), { all: 1, enabled: 1 });
  const states = (await events('artifact-updated')).map(({ additionalInfo: { before, after } }) =>
    [before, after].map((state) => (state as { enabled: boolean }).enabled),
  );
  assert.deepEqual(new Set(states.map(String)), new Set(['false,true', 'false,false', 'true,false']));
  requireProblem(await enable(true, { versionName: 'v2' }), 404, 'artifact-not-found');
  requireProblem(await enable(true, { environmentName: 'uat' }), 404, 'environment-not-found');
});

test('an update with If-Match is refused if the version has changed', async () => {
  const { enable, details } = await deliverVersion();
  const { etag } = await details('dev');
  assert.equal((await details('dev')).etag, etag, 'the same state has the same ETag');
  const disabled = await enable(false, {}, { 'if-match': etag });
  assert.equal(disabled.status, 200);
  assert.equal(disabled.etag, (await details('dev')).etag);
  assert.notEqual(disabled.etag, etag);
  requireProblem(await enable(false, {}, { 'if-match': etag }), 412, 'etag-mismatch');
});

test('concurrent updates leave the state of the last one and a matching total', async () => {
  const { enable, details, totals } = await deliverVersion();
  const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => enable(index % 2 === 0)));
  for (const answer of answers) assert.equal(answer.status, 200, answer.text);
  const { enabled } = (await details('dev')).body.details;
  assert.deepEqual(await totals('dev'), { all: 1, enabled: enabled ? 1 : 0 });
});

test('a running execution keeps a version that is disabled, and no new one starts with it', async () => {
  const { account, admin, project, enable } = await deliverVersion();
  const agent = await account.agent();
  const executions = `${project.path}/pipeline-executions`;
  const expected = { pipelineName: 'main', environmentName: 'dev', agentId: agent.agentId };
  const started = await admin.post<{ pipelineExecutionId: string }>(executions, expected);
  await enable(false);
  requireProblem(await admin.post(executions, { ...expected, versionName: 'v1' }), 410, 'artifact-disabled');
  requireProblem(await admin.post(executions, expected), 404, 'artifact-not-found');

  const instanceId = '01890000-0000-7000-8000-000000000001';
  const claim = await agent.client.post<{
    work: { workId: string; epoch: number; payload: { artifactDigest: string } }[];
  }>('/claims', { instanceId, max: 1, waitSeconds: 0 });
  const [work] = claim.body.work;
  assert.ok(work);
  const { files } = (
    await agent.client.get<{ files: { path: string; sha256: string }[] }>(
      `/artifacts/${work.payload.artifactDigest}`,
    )
  ).body;
  assert.equal((await agent.client.get(`/blobs/${files[0]?.sha256}`)).text, smallPipeline);
  const about = { workId: work.workId, epoch: work.epoch };
  await agent.client.post('/reports', {
    instanceId,
    reports: [
      { ...about, sequence: 1, type: 'started' },
      { ...about, sequence: 2, type: 'completed', outcome: { status: 'SUCCESS' } },
    ],
  });
  const status = await admin.get<{ status: string }>(
    `${executions}/${started.body.pipelineExecutionId}/status`,
  );
  assert.equal(status.body.status, 'SUCCESS');
});

test('after many changes the totals match the rows', async () => {
  const { admin, project, enable, promote, totals } = await deliverVersion();
  for (let index = 2; index < 12; index++) {
    const versionName = `v${index}`;
    await upload(admin, project, [{ name: 'a', content: versionName }], { versionName });
    if (index % 2 === 0) await promote({ versionName });
    if (index % 3 === 0) await enable(false, { versionName });
    if (index % 4 === 0) await enable(false, { versionName, environmentName: 'prod' });
  }
  const [dev, prod] = [await totals('dev'), await totals('prod')];
  assert.deepEqual(
    [dev, prod],
    [
      { all: 11, enabled: 8 },
      { all: 5, enabled: 3 },
    ],
  );
});
