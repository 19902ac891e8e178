/** Publishing, listing, reading, enabling and disabling versions of shared pipelines. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of the pipeline format
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  AccountEventItem,
  Page,
  SharedArtifactDetails,
  SharedPipeline,
  SharedPipelineGroup,
} from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { sharedPipeline, smallPipeline } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { publishShared } from '../../../testing/shared-pipelines.ts';

const server = await startTestServer();
type Details = { artifactDetails: SharedArtifactDetails; sharedPipelines: SharedPipeline[] };

const artifacts = '/shared-pipelines/artifacts';
const check = { name: 'check.orch.yaml', content: sharedPipeline };

async function createAccount() {
  const { admin, ...made } = await server.account();
  /** Each version is newer than the one before. */
  const publish = (versionName: string, headers: Record<string, string> = {}, parts = [check]) => {
    server.clock.advance(1);
    return publishShared(admin, parts, { versionName, ...headers });
  };
  const enable = (versionName: string, enabled: boolean, sharedPipelineIdPrefix = 'Checks') =>
    admin.patch<{ enabled: boolean; versionName: string }>(artifacts, {
      enabled,
      sharedPipelineIdPrefix,
      versionName,
    });
  const details = (query = '') =>
    admin.get<Details>(`${artifacts}/details?sharedPipelineIdPrefix=Checks${query}`);
  const versions = async (query = '') => {
    const { body } = await admin.get<Page<SharedArtifactDetails>>(`${artifacts}?${query}`);
    return body.results.map((each) => `${each.sharedPipelineIdPrefix} ${each.versionName}`);
  };
  const groups = async (query = '') =>
    (await admin.get<Page<SharedPipelineGroup>>(`/shared-pipelines?${query}`)).body;
  return { ...made, admin, publish, enable, details, versions, groups };
}

test('a version is published and read back with its pipelines, described by their notes', async () => {
  const { publish, details } = await createAccount();
  const bare = { name: 'folder/Load it.orch.yaml', content: smallPipeline };
  const broken = { name: 'broken.orch.yaml', content: '[' };
  const readme = { name: 'readme.md', content: 'x' };
  const answer = await publish('1.0', { branch: 'main', commitHash: 'abc' }, [bare, check, broken, readme]);
  assert.equal(answer.status, 201);
  assert.equal(answer.body.versionName, '1.0');
  assert.deepEqual(
    answer.body.ignoredResources.map(({ name }) => name),
    ['broken.orch.yaml'],
  );
  assert.deepEqual((await details('&versionName=1.0')).body, {
    artifactDetails: {
      branch: 'main',
      commitHash: 'abc',
      createdAt: server.clock.now().toISOString(),
      enabled: true,
      provider: 'headgate',
      sharedPipelineIdPrefix: 'Checks',
      versionName: '1.0',
    },
    sharedPipelines: [
      {
        description: 'Counts the rows of a table.',
        sharedPipelineId: 'Checks/check',
        sourcePipeline: 'check.orch.yaml',
      },
      {
        description: '',
        sharedPipelineId: 'Checks/folder/Load it',
        sourcePipeline: 'folder/Load it.orch.yaml',
      },
    ],
  });
});

test('a version is immutable; other groups and accounts may have a version of the same name', async () => {
  const { publish } = await createAccount();
  assert.equal((await publish('1')).status, 201);
  requireProblem(await publish('1'), 409, 'shared-version-exists');
  assert.equal((await publish('1', { sharedPipelineIdPrefix: 'Loads' })).status, 201);
  assert.equal((await (await createAccount()).publish('1')).status, 201);
});

test('invalid names are refused', async () => {
  const { publish } = await createAccount();
  for (const sharedPipelineIdPrefix of ['a/b', 'a\\b', '${a}', 'x'.repeat(101)]) {
    requireProblem(await publish('1', { sharedPipelineIdPrefix }), 400, 'invalid-request');
  }
  for (const versionName of ['[Latest]', '[latest]', 'x'.repeat(256)]) {
    requireProblem(await publish(versionName), 400, 'invalid-request');
  }
  const umlaut = Buffer.from('Größen').toString('latin1');
  assert.equal((await publish('1', { sharedPipelineIdPrefix: umlaut })).status, 201);
});

test('headers may be URL-encoded', async () => {
  const { publish, groups } = await createAccount();
  const prefix = 'é'.repeat(80);
  const versionName = '日'.repeat(200);
  const encoded = {
    sharedPipelineIdPrefix: encodeURIComponent(prefix),
    versionName: encodeURIComponent(versionName),
  };
  const { body } = await publish('1', encoded);
  assert.equal(body.versionName, versionName);
  assert.equal((await groups()).results[0]?.sharedPipelineIdPrefix, prefix);
});

test('a form without a readable pipeline is refused with the reasons', async () => {
  const { publish, versions } = await createAccount();
  const broken = { name: 'broken.orch.yaml', content: 'type: orchestration\npipeline: [' };
  const answer = await publish('1', {}, [broken, { name: 'readme.md', content: 'x' }]);
  const { violations, errors } = requireProblem(answer, 422, 'shared-version-without-pipeline');
  assert.equal(errors?.[0]?.pointer, '/broken.orch.yaml');
  assert.equal(violations?.length, 1);
  assert.match(violations?.[0] ?? '', /^part "broken\.orch\.yaml": .*line 2/);
  assert.deepEqual(await versions('enabledOnly=false'), []);
});

test('a finding about a group names the group', async () => {
  const { publish } = await createAccount();
  const call = { type: 'run-orchestration', parameters: { orchestrationJob: 'gone' } };
  const load = { type: 'file-load', parameters: { source: 'a.csv', fileType: 'CSV', targetTable: 't' } };
  const first = { type: 'start', transitions: { success: ['Call', 'Load'] } };
  const components = { S: first, Call: call, Load: load };
  const content = JSON.stringify({ type: 'orchestration', pipeline: { components } });
  const { body } = await publish('1', {}, [{ name: 'check.orch.yaml', content }]);
  const messages = (body as unknown as { warnings: { message: string }[] }).warnings.map(
    ({ message }) => message,
  );
  assert.equal(messages.length, 2);
  assert.match(messages[0] ?? '', /^the pipeline gone\.orch\.yaml is not in the shared pipelines "Checks": /);
  assert.match(messages[1] ?? '', /^the file "a\.csv" is not in the shared pipelines "Checks": /);
});

test('enabled versions, all versions, or those of a group are listed newest first', async () => {
  const { publish, enable, versions, admin } = await createAccount();
  await publish('1');
  await publish('2');
  await publish('1', { sharedPipelineIdPrefix: 'Loads' });
  await enable('2', false);
  assert.deepEqual(await versions(), ['Loads 1', 'Checks 1']);
  assert.deepEqual(await versions('enabledOnly=false'), ['Loads 1', 'Checks 2', 'Checks 1']);
  assert.deepEqual(await versions('enabledOnly=false&sharedPipelineIdPrefix=Checks'), [
    'Checks 2',
    'Checks 1',
  ]);
  assert.deepEqual(await versions('sharedPipelineIdPrefix=Nothing'), []);
  assert.deepEqual(await versions('enabledOnly=false&size=1&page=1'), ['Checks 2']);
  const { total } = (await admin.get<Page<unknown>>(`${artifacts}?enabledOnly=false&size=1`)).body;
  assert.equal(total, 3);
});

test('without a version name, the newest enabled version is read', async () => {
  const { publish, enable, details } = await createAccount();
  requireProblem(await details(), 404, 'shared-version-not-found');
  await publish('2');
  await publish('1');
  const readLatest = async () => (await details()).body.artifactDetails.versionName;
  assert.equal(await readLatest(), '1', 'newest by time');
  assert.deepEqual((await enable('1', false)).body, { enabled: false, versionName: '1' });
  assert.equal(await readLatest(), '2');
  assert.equal((await details('&versionName=1')).body.artifactDetails.enabled, false);
  await enable('2', false);
  requireProblem(await details(), 404, 'shared-version-not-found');
  await enable('1', true);
  assert.equal(await readLatest(), '1');
  requireProblem(await details('&versionName=3'), 404, 'shared-version-not-found');
  requireProblem(await enable('3', true), 404, 'shared-version-not-found');
  requireProblem(await enable('1', true, 'Loads'), 404, 'shared-version-not-found');
});

test('groups are listed by prefix with the pipelines of their latest version', async () => {
  const { publish, enable, groups } = await createAccount();
  await publish('1', { sharedPipelineIdPrefix: 'Zeros' });
  await publish('1');
  await publish('2', {}, [check, { name: 'other.orch.yaml', content: smallPipeline }]);
  await publish('1', { sharedPipelineIdPrefix: 'Loads' });
  await enable('1', false, 'Loads');
  const { results, total } = await groups();
  assert.equal(total, 3);
  assert.deepEqual(
    results.map((group) => [
      group.sharedPipelineIdPrefix,
      group.latestVersionName,
      group.sharedPipelineCount,
      ...group.sharedPipelines.map((each) => each.sharedPipelineId),
    ]),
    [
      ['Checks', '2', 2, 'Checks/check', 'Checks/other'],
      ['Loads', undefined, 0],
      ['Zeros', '1', 1, 'Zeros/check'],
    ],
  );
  assert.deepEqual(
    (await groups('page=2&size=1')).results.map((group) => group.sharedPipelineIdPrefix),
    ['Zeros'],
  );
});

test('of a large group the list contains the first 100 pipelines by name, and their number', async () => {
  const { publish, groups, details } = await createAccount();
  const parts = Array.from({ length: 103 }, (_, index) => ({
    name: `${String(index).padStart(3, '0')}.orch.yaml`,
    content: sharedPipeline,
  }));
  await publish('1', {}, parts.toReversed());
  const [group] = (await groups()).results;
  assert.equal(group?.sharedPipelineCount, 103);
  assert.equal(group?.sharedPipelines.length, 100);
  assert.equal(group?.sharedPipelines.at(-1)?.sharedPipelineId, 'Checks/099');
  assert.equal((await details()).body.sharedPipelines.length, 103);
});

test('the events of a version are found by its group', async () => {
  const { publish, enable, admin } = await createAccount();
  await publish('1');
  await enable('1', false);
  const from = new Date(server.clock.now().getTime() - 86_400_000).toISOString();
  const to = new Date(server.clock.now().getTime() + 86_400_000).toISOString();
  const { results } = (
    await admin.get<Page<AccountEventItem>>(`/events?from=${from}&to=${to}&subjectId=Checks`)
  ).body;
  assert.deepEqual(
    results.map(({ eventName, eventType, eventSubjectName }) => [eventName, eventType, eventSubjectName]),
    [
      ['shared-pipelines-updated', 'UPDATE', 'Checks 1'],
      ['shared-pipelines-created', 'CREATE', 'Checks 1'],
    ],
  );
  assert.deepEqual(results[0]?.additionalInfo.before, { versionName: '1', enabled: true });
  assert.deepEqual(results[0]?.additionalInfo.after, { versionName: '1', enabled: false });
});

test('a publication repeated with its idempotency key happens once and gets the same response', async () => {
  const { admin, versions } = await createAccount();
  const send = () => publishShared(admin, [check], { 'idempotency-key': 'one' });
  const first = await send();
  const again = await send();
  assert.equal(first.status, 201);
  assert.deepEqual([again.status, again.body], [201, first.body]);
  assert.deepEqual(await versions(), ['Checks 1']);
});

test('of 6 concurrent publications of one version, one succeeds', async () => {
  const { admin, versions } = await createAccount();
  const parts = [check];
  const answers = await Promise.all(Array.from({ length: 6 }, () => publishShared(admin, parts)));
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [201, 409, 409, 409, 409, 409]);
  assert.deepEqual(await versions(), ['Checks 1']);
});
