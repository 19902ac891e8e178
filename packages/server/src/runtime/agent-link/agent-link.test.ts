/** The agent protocol, call by call (contract/agent-protocol.ts). */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { ArtifactManifest, ReportsResponse } from '@headgate/contract';
import { canonicalManifest } from '@headgate/contract';
import { createInstance } from '../../../testing/agent.ts';
import { requireProblem } from '../../../testing/client.ts';
import { smallPipeline } from '../../../testing/project.ts';
import { claimSingle, completed, createClaimed, createRunnable } from '../../../testing/runnable-project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({ settings: { HEADGATE_RUN_LIMIT_SECONDS: '3000' } });
const { leaseSeconds, heartbeatSeconds } = server.deps.times;

test('hello returns the agent and its intervals', async () => {
  const { agent, instance } = await createRunnable(server);
  const { body } = await instance.hello();
  assert.deepEqual([body.agentId, body.name, body.protocolVersion], [agent.agentId, agent.name, 1]);
  assert.deepEqual([body.leaseSeconds, body.heartbeatSeconds], [leaseSeconds, heartbeatSeconds]);
  assert.match(String(body.databaseCluster), /^\d+$/);
});

test('an agent of another protocol version gets an error with the supported one', async () => {
  const { instance } = await createRunnable(server);
  const refused = requireProblem(
    await instance.hello({ protocolVersions: [2, 3] }),
    409,
    'protocol-version-unsupported',
  );
  assert.match(refused.detail, /version 1/);
  assert.equal((await instance.hello({ protocolVersions: [2, 1] })).status, 200);
});

test('work contains everything that the run needs, with the overrides of its environment', async () => {
  const { admin, made, instance, start } = await createRunnable(server);
  const variables = `${made.path}/variables`;
  const region = { name: 'region', type: 'TEXT', behaviour: 'SHARED', supportsDoubleResolution: true };
  await admin.post(variables, { ...region, value: 'north' });
  await admin.post(variables, { name: 'factor', type: 'NUMBER', behaviour: 'COPIED' });
  await admin.post(`${variables}/region/environment-overrides`, [
    { environmentName: 'dev', value: 'south' },
    { environmentName: 'prod', value: 'west' },
  ]);
  const id = await start({
    scalarVariables: { city: 'Bergen', limit: 3 },
    gridVariables: { table: [['x']] },
  });
  const work = await claimSingle(instance);
  assert.equal(work.workId, id);
  assert.equal(work.epoch, 1);
  assert.equal(
    work.leaseExpiresAt,
    new Date(server.clock.now().getTime() + leaseSeconds * 1_000).toISOString(),
  );
  const { artifactDigest, ...payload } = work.payload;
  assert.match(artifactDigest, /^[0-9a-f]{64}$/);
  assert.deepEqual(payload, {
    pipelineExecutionId: id,
    projectId: made.projectId,
    environmentName: 'dev',
    generation: 1,
    pipelineName: 'main.orch.yaml',
    pipelineType: 'ORCHESTRATION',
    versionName: 'v1',
    variables: [
      { name: 'factor', type: 'NUMBER', behaviour: 'COPIED' },
      {
        name: 'region',
        type: 'TEXT',
        behaviour: 'SHARED',
        value: 'south',
        isOverride: true,
        supportsDoubleResolution: true,
      },
    ],
    scalarVariables: { city: 'Bergen', limit: 3 },
    gridVariables: { table: [['x']] },
    sharedArtifacts: [],
    ignoredPipelines: [],
    schedule: null,
    timeLimitSeconds: 3_000,
    warehouse: { kind: 'duckdb', sqlDialect: 'SNOWFLAKE', ignoreAccessStatements: false },
  });
});

test('an agent fetches the files of its work by digest, but none of other accounts', async () => {
  const { agent, work } = await createClaimed(server);
  const other = await createRunnable(server);
  const { artifactDigest } = work.payload;
  const manifest = (await agent.client.get<ArtifactManifest>(`/artifacts/${artifactDigest}`)).body;
  assert.equal(createHash('sha256').update(canonicalManifest(manifest.files)).digest('hex'), artifactDigest);
  const [file] = manifest.files;
  assert.ok(file);
  const blob = await agent.client.get(`/blobs/${file.sha256}`);
  assert.equal(blob.text, smallPipeline);
  assert.equal(blob.headers['content-length'], String(file.size));
  const foreign = await (await server.account()).agent();
  requireProblem(await foreign.client.get(`/artifacts/${artifactDigest}`), 404, 'blob-not-found');
  requireProblem(await foreign.client.get(`/blobs/${file.sha256}`), 404, 'blob-not-found');
  requireProblem(await other.agent.client.get('/blobs/..%2f..%2fmaster-key'), 404, 'blob-not-found');
});

test('work is claimed once, oldest first, up to the requested number', async () => {
  const { instance, agent, start } = await createRunnable(server);
  const ids: string[] = [];
  for (let run = 0; run < 3; run += 1) {
    server.clock.advance(1);
    ids.push(await start());
  }
  assert.deepEqual((await instance.claim(2)).work.map((work) => work.workId).toSorted(), ids.slice(0, 2));
  assert.deepEqual((await instance.claim(0)).work, []);
  const second = createInstance(agent);
  assert.deepEqual(
    (await second.claim()).work.map((work) => work.workId),
    ids.slice(2),
  );
  assert.deepEqual((await instance.claim()).work, []);
});

test('an agent cannot claim the work of another agent', async () => {
  const found = await createRunnable(server);
  const colleague = createInstance(await found.account.agent());
  await found.start();
  assert.deepEqual((await colleague.claim()).work, []);
});

test('a waiting claim gets its response as soon as there is work', async () => {
  const { instance, start } = await createRunnable(server);
  // At the end of its time it would get an empty response.
  const waiting = instance.claim(1, 25);
  const id = await start();
  assert.equal((await waiting).work[0]?.workId, id);
});

test('a command goes to a waiting claim at once, and heartbeats repeat it until the agent obeys', async () => {
  const { instance, id, work, cancel, status } = await createClaimed(server);
  const waiting = instance.claim(10, 25);
  await cancel(id);
  assert.deepEqual((await waiting).commands, [
    { workId: id, epoch: 1, command: 'cancel', requestedBy: 'a SUPER_ADMIN' },
  ]);
  for (let beat = 0; beat < 2; beat += 1) {
    assert.deepEqual(await instance.heartbeat(work), [
      { workId: id, epoch: 1, state: 'held', command: 'cancel', requestedBy: 'a SUPER_ADMIN' },
    ]);
  }
  await cancel(id, true);
  assert.equal((await instance.heartbeat(work))[0]?.command, 'force-cancel');
  await instance.report(work, { type: 'completed', outcome: { status: 'CANCELLED' } });
  assert.deepEqual((await instance.claim()).commands, []);
  assert.equal(await status(id), 'CANCELLED');
});

test('a run is reported from its start to its end', async () => {
  const { instance, id, work, status } = await createClaimed(server);
  assert.deepEqual(await instance.report(work, { type: 'started' }), { workId: id, accepted: true });
  assert.equal(await status(id), 'RUNNING');
  assert.deepEqual(await instance.report(work, completed), { workId: id, accepted: true });
  assert.equal(await status(id), 'SUCCESS');
  assert.deepEqual(await instance.heartbeat(work), [{ workId: id, epoch: 1, state: 'lost' }]);
});

test('the message of a failure is stored', async () => {
  const { instance, id, work, read } = await createClaimed(server);
  await instance.report(work, {
    type: 'completed',
    outcome: { status: 'FAILED', message: 'no such table: city' },
  });
  const { status, message } = await read(id);
  assert.deepEqual([status, message], ['FAILED', 'no such table: city']);
});

test('a repeated report is accepted and changes nothing', async () => {
  const { account, instance, id, work, status } = await createClaimed(server);
  await instance.report(work, { type: 'started' }, 1);
  await instance.report(work, { type: 'started' }, 1);
  await instance.report(work, completed, 2);
  const again = await instance.report(work, completed, 2);
  assert.deepEqual(again, { workId: id, accepted: true });
  const late = { type: 'completed', outcome: { status: 'FAILED' } } as const;
  const after = await instance.report(work, late, 3);
  assert.ok(!after.accepted && after.code === 'stale-epoch');
  assert.equal(await status(id), 'SUCCESS');
  const events = await server.database.query<{ name: string }>(
    `select name from event where account_id = $1 and name in ('pipeline-execution-started', 'pipeline-execution-ended')`,
    [account.accountId],
  );
  assert.equal(events.length, 2);
});

test('the results of a batch have the order of its reports', async () => {
  const { agent, instance, id, work } = await createClaimed(server);
  const unknown = randomUUID();
  const reports = [
    { workId: unknown, epoch: 1, sequence: 1, type: 'started' },
    { workId: id, epoch: 9, sequence: 1, type: 'started' },
    { workId: id, epoch: work.epoch, sequence: 1, type: 'started' },
    { workId: id, epoch: work.epoch, sequence: 2, ...completed },
  ];
  const { body } = await agent.client.post<ReportsResponse>('/reports', {
    instanceId: instance.instanceId,
    reports,
  });
  assert.deepEqual(
    body.results.map((result) => [result.workId, result.accepted || result.code]),
    [
      [unknown, 'work-not-found'],
      [id, 'stale-epoch'],
      [id, true],
      [id, true],
    ],
  );
});

test('a report about another agent’s work gets work-not-found', async () => {
  const { work, id, account, status } = await createClaimed(server);
  for (const agent of [await account.agent(), await (await server.account()).agent()]) {
    const stranger = createInstance(agent);
    const result = await stranger.report(work, completed);
    assert.ok(!result.accepted && result.code === 'work-not-found');
    assert.deepEqual(await stranger.heartbeat(work), [{ workId: id, epoch: 1, state: 'lost' }]);
  }
  assert.equal(await status(id), 'RUNNING');
});

test('numbers that cannot be stored are refused with 400', async () => {
  const { agent, instance, id, work } = await createClaimed(server);
  const step = {
    stepId: randomUUID(),
    pipelineRunId: id,
    name: 's',
    componentType: 'sql',
    status: 'RUNNING',
    startedAt: server.clock.now().toISOString(),
  };
  const bad = [
    { workId: id, epoch: work.epoch, sequence: 3_000_000_000, type: 'started' },
    { workId: id, epoch: work.epoch, sequence: 1, type: 'progress', steps: [{ ...step, rowCount: 1e300 }] },
    { workId: id, epoch: work.epoch, sequence: 1, type: 'progress', steps: [{ ...step, name: 'a\0b' }] },
  ];
  for (const report of bad) {
    const answer = await agent.client.post('/reports', {
      instanceId: instance.instanceId,
      reports: [report],
    });
    requireProblem(answer, 400, 'invalid-request');
  }
  assert.ok((await instance.report(work, completed)).accepted, 'the work is unchanged');
});

test('concurrent claims never get the same work', async () => {
  const { agent, start } = await createRunnable(server);
  const ids = await Promise.all(Array.from({ length: 30 }, () => start()));
  const instances = Array.from({ length: 6 }, () => createInstance(agent));
  const claims = await Promise.all(instances.flatMap((instance) => [instance.claim(4), instance.claim(4)]));
  const got = claims.flatMap((answer) => answer.work.map((work) => work.workId));
  assert.equal(new Set(got).size, got.length);
  const rest = await instances[0]?.claim(100);
  assert.deepEqual(new Set([...got, ...(rest?.work.map((work) => work.workId) ?? [])]), new Set(ids));
});

test('the events of a run have its project and its pipeline', async () => {
  const { account, made, instance, work } = await createClaimed(server);
  await instance.report(work, { type: 'started' });
  await instance.report(work, completed);
  const events = await server.database.query<{
    name: string;
    project_id: string | null;
    subject_name: string | null;
  }>(
    `select name, project_id, subject_name from event where account_id = $1 and subject_type = 'pipeline-execution' order by event_id`,
    [account.accountId],
  );
  assert.deepEqual(
    events.map((event) => [event.name, event.project_id, event.subject_name]),
    ['requested', 'claimed', 'started', 'ended'].map((name) => [
      `pipeline-execution-${name}`,
      made.projectId,
      'main.orch.yaml',
    ]),
  );
});
