/** Shares of an agent: turns of projects and environments, the bound of one environment, and places for short work. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClaimResponse, Environment, Page } from '@headgate/contract';
import { createInstance, type Instance } from '../../../testing/agent.ts';
import { requireProblem } from '../../../testing/client.ts';
import { createExecution } from '../../../testing/executions.ts';
import { createPlace, mainPipeline, type Place } from '../../../testing/place.ts';
import { upload } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { waitUntil } from '../../../testing/waiting.ts';

const server = await startTestServer({ config: { queuedRuns: 40 } });

/** Two projects with an environment each, which one agent serves. */
async function createPlaces(concurrency = 20): Promise<{ one: Place; other: Place; instance: Instance }> {
  const one = await createPlace(await server.account());
  const project = await one.account.project();
  await upload(one.account.admin, project, [mainPipeline]);
  const instance = createInstance(one.agent);
  await instance.hello({ concurrency });
  return { one, other: { ...one, project }, instance };
}

async function enqueue(place: Place, count: number, environmentName = 'dev'): Promise<void> {
  for (let number = 0; number < count; number++) await createExecution(place, environmentName);
}

/** Queues runs in both environments of a project. */
async function enqueueInBoth(place: Place, count: number): Promise<void> {
  await upload(place.account.admin, place.project, [mainPipeline], { environmentName: 'prod' });
  await enqueue(place, count);
  await enqueue(place, count, 'prod');
}

async function leaveOnlyDev({ account: { admin }, project }: Place): Promise<void> {
  const path = `${project.path}/environments`;
  const { body } = await admin.get<Page<Environment>>(path);
  for (const { name } of body.results) if (name !== 'dev') await admin.send('DELETE', `${path}/${name}`, {});
}

/** The number of claimed works of each project, or their order. */
const count = (work: ClaimResponse['work'], { project }: Place) =>
  work.filter(({ payload }) => 'projectId' in payload && payload.projectId === project.projectId).length;
const order = (work: ClaimResponse['work'], one: Place) =>
  work.map((each) => (count([each], one) === 1 ? 'one' : 'other')).join(' ');

const end = { type: 'completed', outcome: { status: 'SUCCESS' } } as const;

async function claimAndEnd(instance: Instance): Promise<ClaimResponse['work']> {
  const { work } = await instance.claim(1);
  for (const each of work) await instance.report(each, end);
  return work;
}

test('one environment holds at most half of the places, whether or not others wait', async () => {
  const { one, other, instance } = await createPlaces(9);
  await enqueue(one, 12);
  const first = await instance.claim(9);
  assert.equal(first.work.length, 5, 'half of 9, rounded up');
  assert.deepEqual((await instance.claim(4)).work, []);
  await enqueue(other, 1);
  const second = await instance.claim(4);
  assert.equal(order(second.work, one), 'other');
});

test('the environments of one project leave a place for another project', async () => {
  const { one, other, instance } = await createPlaces(4);
  await enqueueInBoth(one, 4);
  assert.equal((await instance.claim(4)).work.length, 3, 'three quarters of 4');
  await enqueue(other, 1);
  assert.equal(order((await instance.claim(1)).work, one), 'other');
});

test('the only project that an agent serves has all its places', async () => {
  const one = await createPlace(await server.account());
  const instance = createInstance(one.agent);
  await instance.hello({ concurrency: 4 });
  await enqueueInBoth(one, 4);
  assert.equal((await instance.claim(4)).work.length, 4);
});

test('the end of a run wakes the claim for work that its environment could not have', async () => {
  const { one, instance } = await createPlaces(4);
  await enqueue(one, 3);
  const { work } = await instance.claim(4);
  assert.equal(work.length, 2);
  const { wakes } = server.deps;
  const waiting = instance.claim(2, 25);
  await waitUntil('the waiting claim', 60, () => wakes.countWaiting(one.agent.agentId) > 0);
  const [first] = work;
  assert.ok(first);
  await instance.report(first, end);
  assert.equal((await waiting).work.length, 1);
});

test('the only environment that an agent serves has all its places', async () => {
  const one = await createPlace(await server.account());
  await leaveOnlyDev(one);
  const instance = createInstance(one.agent);
  await instance.hello({ concurrency: 6 });
  await enqueue(one, 8);
  const { work } = await instance.claim(6);
  assert.deepEqual(
    work.map((each) => each.environmentShare),
    [100, 100, 100, 100, 100, 100],
  );
});

test('a restricted agent with one environment on its list gives it all, and others nothing', async () => {
  const { one, other, instance } = await createPlaces(4);
  const path = `/agents/${one.agent.agentId}`;
  await one.account.admin.patch(path, { restrictedAccess: true });
  const body = { projects: { [one.project.projectId]: { environments: ['dev'] } } };
  await one.account.admin.send('PUT', `${path}/allowlist`, { body });
  await enqueue(other, 2);
  await enqueue(one, 5);
  assert.equal(order((await instance.claim(4)).work, one), 'one one one one');
});

test('projects take turns, however many runs of one wait and however old they are', async () => {
  const { one, other, instance } = await createPlaces(1);
  await enqueue(one, 6);
  await enqueue(other, 2);
  const works: ClaimResponse['work'] = [];
  for (let turn = 0; turn < 5; turn++) works.push(...(await claimAndEnd(instance)));
  const shown = order(works, one);
  assert.ok(['one other one other one', 'other one other one one'].includes(shown), shown);
});

test('weights say how many works a project gets in its turn, and the share is settable', async () => {
  const { one, other, instance } = await createPlaces(12);
  const path = `/agents/${one.agent.agentId}`;
  const weights = [{ projectId: one.project.projectId, weight: 3 }];
  const { body } = await one.account.admin.patch<object>(path, { environmentShare: 100, weights });
  assert.partialDeepStrictEqual(body, { environmentShare: 100, weights });
  await enqueue(one, 9);
  await enqueue(other, 9);
  const { work } = await instance.claim(8);
  assert.equal(count(work, one), 6);
  assert.equal((await instance.claim(4)).work.length, 4);
  const twice = await one.account.admin.patch(path, { weights: [...weights, ...weights] });
  assert.equal(twice.status, 400);
});

test('a weight without its project or environment has no effect, and the response names it', async () => {
  const { one } = await createPlaces(1);
  const path = `/agents/${one.agent.agentId}`;
  const { projectId } = one.project;
  const nowhere = '00000000-0000-4000-8000-000000000000';
  const patch = (weights: object[]) => one.account.admin.patch(path, { weights });
  const known = await patch([
    { projectId, weight: 2 },
    { projectId, environmentName: 'dev', weight: 2 },
  ]);
  assert.equal(known.headers['headgate-warning'], undefined);
  const unknown = await patch([
    { projectId: nowhere, weight: 2 },
    { projectId, environmentName: 'dve', weight: 2 },
  ]);
  assert.equal(unknown.status, 202);
  const warning = String(unknown.headers['headgate-warning']);
  assert.ok(warning.includes(`there is no project ${nowhere}`), warning);
  assert.ok(warning.includes(`the project ${projectId} has no environment "dve"`), warning);
  const names = Array.from({ length: 15 }, (_, each) => `e${each}`);
  const many = await patch(names.map((environmentName) => ({ projectId, environmentName, weight: 2 })));
  assert.match(String(many.headers['headgate-warning']), /; and 5 more$/);
});

test('a prefix of vault names that does not end in a separator is named in a warning', async () => {
  const { one } = await createPlaces(1);
  const patch = async (prefix: string) => {
    const vaultAccess = { projects: { [one.project.projectId]: { prefixes: [prefix] } } };
    const { status, headers } = await one.account.admin.patch(`/agents/${one.agent.agentId}`, {
      vaultAccess,
    });
    assert.equal(status, 202);
    return headers['headgate-warning'];
  };
  assert.match(
    String(await patch('team')),
    /the prefix "team" .* grants names such as "teamx", too: write "team\/"/,
  );
  for (const prefix of ['team/', 'team-', 'team_', 'team.'])
    assert.equal(await patch(prefix), undefined, prefix);
});

test('two instances together respect the share of an environment', async () => {
  const { one, instance } = await createPlaces(8);
  const second = createInstance(one.agent);
  await second.hello({ concurrency: 8 });
  await enqueue(one, 20);
  const answers = await Promise.all([instance.claim(8), second.claim(8), instance.claim(8), second.claim(8)]);
  assert.equal(answers.flatMap(({ work }) => work).length, 8);
});

test('short work has places of its own, which runs cannot take', async () => {
  const { one, other, instance } = await createPlaces(2);
  await enqueue(one, 4);
  await enqueue(other, 4);
  assert.equal((await instance.claim(2)).work.length, 2);
  const soon = new Date(server.clock.now().getTime() + 60_000).toISOString();
  await server.database.query(
    `update work set claimable_until = $1 where work_id = (select work_id from work where agent_id = $2 and state = 'queued' limit 1)`,
    [soon, one.agent.agentId],
  );
  const { instanceId } = instance;
  const claim = (max: number, maxShort?: number) =>
    one.agent.client.post<ClaimResponse>('/claims', {
      instanceId,
      max,
      ...(maxShort === undefined ? {} : { maxShort }),
      waitSeconds: 0,
    });
  assert.equal((await claim(0, 0)).body.work.length, 0);
  assert.equal((await claim(0, 5)).body.work.length, 1);
});

test('a start, a restart and a test execution above the limit of queued runs are 409', async () => {
  const { one, other, instance } = await createPlaces();
  const { admin } = one.account;
  const failedPath = await createExecution(one);
  const [failed] = (await instance.claim(1)).work;
  assert.ok(failed);
  await instance.report(failed, { type: 'started' });
  await instance.report(failed, { type: 'completed', outcome: { status: 'FAILED', message: 'no table' } });
  await enqueue(one, 40);
  const requests: [path: string, body: object][] = [
    [`${one.project.path}/pipeline-executions`, { pipelineName: 'main', environmentName: 'dev' }],
    [`${failedPath}/restart`, {}],
    [`${one.project.path}/test-executions`, { scope: 'PROJECT', environmentName: 'dev' }],
  ];
  for (const [path, body] of requests) {
    const refused = requireProblem(await admin.post(path, body), 409, 'queue-full');
    assert.match(refused.detail, /40 runs of the environment "dev" wait for an agent/);
  }
  await enqueue(other, 1);
});

/** Queues work by SQL, and returns how many blocks of the database a claim reads then, and how many works it gets. */
async function measureClaim(
  { one, instance }: { one: Place; instance: Instance },
  columns: string,
  works: string,
) {
  const { accountId, projectId } = { ...one.account, ...one.project };
  const { query } = server.database;
  await query(
    `insert into work (account_id, work_id, project_id, agent_id, environment_name, ${columns}, name, state, created_at, queued_at, due_at)
     select $1, gen_random_uuid(), $2, $3, ${works}`,
    [accountId, projectId, one.agent.agentId],
  );
  await query('analyze work');
  const claim = `select * from choose_work('${accountId}', '${one.agent.agentId}', '${instance.instanceId}', 0, 'run', 20)`;
  const [row] = await query<{ work_ids: string[] }>(claim);
  const rows = await query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
    `explain (analyze, buffers, format json) ${claim}`,
  );
  const plan = rows[0]?.['QUERY PLAN'][0].Plan ?? {};
  const blocks = (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
  return { blocks, works: row?.work_ids.length };
}

/** The claim looks up what it takes: neither the number of waiting works nor that of places matters. */
test('a claim stays cheap with 100,000 waiting runs in 2,000 environments', async () => {
  const { blocks, works } = await measureClaim(
    await createPlaces(),
    'kind',
    `'place ' || n % 2000, 'pipeline-execution', 'main', 'queued', now(), now(), now() from generate_series(1, 100000) n`,
  );
  assert.equal(works, 15, 'the share of the project');
  assert.ok(blocks < 3_000, `${blocks} blocks`);
});

test('a claim stays cheap when its instance supports none of 100,000 waiting runs, or only the last', async () => {
  const places = await createPlaces();
  const waiting = `'place ' || n % 200, 'pipeline-execution', 'sql-v9', 'main', 'queued', now(), now(), now() from generate_series(1, 100000) n`;
  const none = await measureClaim(places, 'kind, ability', waiting);
  assert.equal(none.works, 0);
  assert.ok(none.blocks < 1_000, `${none.blocks} blocks`);
  const one = `'place 99', 'pipeline-execution', null, 'main', 'queued', now(), now(), now()`;
  const last = await measureClaim(places, 'kind, ability', one);
  assert.equal(last.works, 1);
  assert.ok(last.blocks < 1_000, `${last.blocks} blocks`);
});
