/** The versions of shared pipelines of an execution: chosen at its start, and fixed until its end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SharedArtifact, sharedArtifactLimit } from '@headgate/contract';
import { createInstance } from '../../../testing/agent.ts';
import { type Part, smallPipeline, upload } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { makePipelineUsing, publishShared } from '../../../testing/shared-pipelines.ts';
import { chooseVersions } from '../../delivery/shared-pipelines/index.ts';

const server = await startTestServer();
const check: Part = { name: 'check.orch.yaml', content: smallPipeline };

async function project(main: string) {
  const account = await server.account();
  const { admin } = account;
  const agent = await account.agent();
  const instance = createInstance(agent);
  const made = await account.project();
  await upload(admin, made, [{ name: 'main.orch.yaml', content: main }]);
  return {
    admin,
    instance,
    publish(prefix: string, versionName: string, content: string = smallPipeline) {
      server.clock.advance(1);
      return publishShared(admin, [{ ...check, content }], { sharedPipelineIdPrefix: prefix, versionName });
    },
    enable: (sharedPipelineIdPrefix: string, versionName: string, enabled: boolean) =>
      admin.patch('/shared-pipelines/artifacts', { sharedPipelineIdPrefix, versionName, enabled }),
    async start() {
      const body = { pipelineName: 'main', environmentName: 'dev' };
      const answer = await admin.post<{ pipelineExecutionId: string }>(
        `${made.path}/pipeline-executions`,
        body,
      );
      assert.equal(answer.status, 201, answer.text);
      return answer.body.pipelineExecutionId;
    },
    /** What the agent gets about each use. */
    async claimed(workId: string): Promise<SharedArtifact[] | undefined> {
      const { work } = await instance.claim();
      const found = work.find((each) => each.workId === workId);
      assert.ok(found, 'no work to claim');
      return found.payload.sharedArtifacts;
    },
  };
}

const shown = (chosen: readonly SharedArtifact[] | undefined) =>
  chosen?.map((one) => `${one.sharedPipelineIdPrefix} ${one.requestedVersionName ?? '-'} ${one.versionName}`);

test('the latest enabled version is chosen, or the named one', async () => {
  const { publish, enable, start, claimed } = await project(
    makePipelineUsing({ prefix: 'Checks' }, { prefix: 'Checks', versionName: '1' }, { prefix: 'Loads' }),
  );
  await publish('Checks', '1');
  await publish('Checks', '2', makePipelineUsing());
  await publish('Checks', '3');
  await enable('Checks', '3', false);
  await publish('Loads', '7');
  const chosen = await claimed(await start());
  assert.deepEqual(shown(chosen)?.toSorted(), ['Checks - 2', 'Checks 1 1', 'Loads - 7']);
  const [latest, one] = ['2', '1'].map((name) => chosen?.find((each) => each.versionName === name));
  assert.notEqual(latest?.artifactDigest, one?.artifactDigest);
  assert.ok(chosen?.every((each) => each.fault === undefined));
});

test('the agent can fetch the chosen versions', async () => {
  const account = await server.account();
  const agent = await account.agent();
  const made = await account.project();
  await publishShared(account.admin, [check, { name: 'rules.csv', content: 'a,b' }]);
  await upload(account.admin, made, [
    { name: 'main.orch.yaml', content: makePipelineUsing({ prefix: 'Checks' }) },
  ]);
  const body = { pipelineName: 'main', environmentName: 'dev' };
  await account.admin.post(`${made.path}/pipeline-executions`, body);
  const [work] = (await createInstance(agent).claim()).work;
  const digest = work?.payload.sharedArtifacts?.[0]?.artifactDigest;
  const manifest = await agent.client.get<{ files: { path: string; sha256: string }[] }>(
    `/artifacts/${digest}`,
  );
  assert.deepEqual(
    manifest.body.files.map(({ path }) => path),
    ['check.orch.yaml', 'rules.csv'],
  );
  assert.equal((await agent.client.get(`/blobs/${manifest.body.files[1]?.sha256}`)).text, 'a,b');
});

test('an execution keeps its versions, whatever is published, disabled or deleted meanwhile', async () => {
  const { publish, enable, start, claimed, instance } = await project(
    makePipelineUsing({ prefix: 'Checks' }),
  );
  await publish('Checks', '1');
  const id = await start();
  await publish('Checks', '2');
  await enable('Checks', '1', false);
  const { work } = await instance.claim();
  const [held] = work;
  assert.ok(held);
  assert.deepEqual(shown(held.payload.sharedArtifacts), ['Checks - 1']);
  await instance.report(held, { type: 'released', reason: 'the agent ends' });
  assert.deepEqual(shown(await claimed(id)), ['Checks - 1']);
  assert.deepEqual(shown(await claimed(await start())), ['Checks - 2']);
});

test('shared pipelines used by shared pipelines are resolved, even in a cycle', async () => {
  const { publish, start, claimed } = await project(makePipelineUsing({ prefix: 'Checks' }));
  await publish(
    'Checks',
    '1',
    makePipelineUsing({ prefix: 'Loads', versionName: '2' }, { prefix: 'Checks' }),
  );
  await publish('Loads', '2', makePipelineUsing({ prefix: 'Checks' }, { prefix: 'Nothing' }));
  await publish('Unused', '1');
  const chosen = await claimed(await start());
  assert.deepEqual(shown(chosen)?.toSorted(), ['Checks - 1', 'Loads 2 2', 'Nothing - undefined']);
});

test('a version that cannot be chosen does not prevent the start; the agent gets the reason', async () => {
  const { publish, enable, start, claimed } = await project(
    makePipelineUsing(
      { prefix: 'Nothing' },
      { prefix: 'Checks' },
      { prefix: 'Checks', versionName: '1' },
      { prefix: 'Checks', versionName: '9' },
    ),
  );
  await publish('Checks', '1');
  await enable('Checks', '1', false);
  const chosen = await claimed(await start());
  const faults = new Map(
    chosen?.map((one) => [`${one.sharedPipelineIdPrefix} ${one.requestedVersionName}`, one.fault ?? '']),
  );
  assert.match(faults.get('Nothing undefined') ?? '', /had no shared pipelines "Nothing": publish them/);
  assert.match(faults.get('Checks undefined') ?? '', /"Checks" had no enabled version: enable or publish/);
  assert.match(faults.get('Checks 1') ?? '', /version "1" of .* "Checks" was disabled: enable it/);
  assert.match(faults.get('Checks 9') ?? '', /there was no version "9" of .*: publish it/);
  assert.ok(chosen?.every((one) => one.artifactDigest === undefined));
});

test('groups of another account are not found', async () => {
  const stranger = await project(smallPipeline);
  await stranger.publish('Checks', '1');
  const { start, claimed } = await project(makePipelineUsing({ prefix: 'Checks' }));
  const [chosen] = (await claimed(await start())) ?? [];
  assert.match(chosen?.fault ?? '', /had no shared pipelines "Checks"/);
});

test('an execution uses at most 100 versions; those closest to its pipelines are chosen', async () => {
  const { publish, start, claimed } = await project(makePipelineUsing({ prefix: 'Fan' }, { prefix: 'Last' }));
  const many = Array.from({ length: 100 }, (_, index) => ({ prefix: `Group ${index}` }));
  await publish('Fan', '1', makePipelineUsing(...many));
  await publish('Last', '1');
  const chosen = await claimed(await start());
  assert.equal(chosen?.length, sharedArtifactLimit);
  assert.deepEqual(shown(chosen)?.slice(0, 2), ['Fan - 1', 'Last - 1']);
});

test('files published by an earlier release are analyzed again when they are published again', async () => {
  const account = await server.account();
  const agent = await account.agent();
  const made = await account.project();
  const main = [{ name: 'main.orch.yaml', content: makePipelineUsing({ prefix: 'Checks' }) }];
  await publishShared(account.admin, [check]);
  await upload(account.admin, made, main);
  const forget = `update manifest set pipelines = pipelines #- '{0,sharedPipelines}' where account_id = $1`;
  await server.database.query(forget, [account.accountId]);
  const readAgentView = async (versionName: string) => {
    const body = { pipelineName: 'main', environmentName: 'dev', versionName };
    await account.admin.post(`${made.path}/pipeline-executions`, body);
    const [work] = (await createInstance(agent).claim()).work;
    return shown(work?.payload.sharedArtifacts);
  };
  assert.deepEqual(await readAgentView('v1'), []);
  await upload(account.admin, made, main, { versionName: 'v2' });
  assert.deepEqual(await readAgentView('v2'), ['Checks - 1']);
});

test('a start without shared pipelines sends no further statement', async () => {
  const read = () => assert.fail('a statement was sent');
  assert.deepEqual(await chooseVersions(read, { accountId: '' }, []), []);
});
