/** The graph of an environment: who reads and writes a dataset, and where its columns come from. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DatasetItem, LineageEdge, LineageNode, Page } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { copyOf, createLineageScene, table } from '../../../testing/lineage-scene.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

interface Graph {
  nodes: LineageNode[];
  edges: LineageEdge[];
  truncated: boolean;
}

/** raw → clean → daily and report; daily keeps rows by clean.state. */
async function city() {
  const scene = await createLineageScene(server);
  const names = ['main', 'clean', 'daily', 'report'].map((name) => `${name}.orch.yaml`);
  await scene.publish('dev', 'v2', names);
  const cleanRun = await scene.run(copyOf('raw', 'clean', 'city', 'amount', 'state'), 'clean');
  await scene.run(
    {
      inputs: [table('clean', 'city', 'amount', 'state')],
      outputs: [
        {
          ...table('daily', 'city', 'total'),
          columns: [
            { name: 'city', inputs: [{ dataset: 0, field: 'city', transformation: 'IDENTITY' }] },
            { name: 'total', inputs: [{ dataset: 0, field: 'amount', transformation: 'AGGREGATED' }] },
          ],
          decidedBy: [{ dataset: 0, field: 'state' }],
        },
      ],
    },
    'daily',
  );
  await scene.run(copyOf('daily', 'report', 'city', 'total'), 'report');
  await scene.account.updateLineage();
  const path = `${scene.project.path}/lineage/graph?environmentName=dev`;
  const graph = async (query: string) => {
    const answer = await scene.admin.get<Graph>(`${path}&${query}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  return { ...scene, path, graph, cleanRun };
}

const render = ({ edges }: Graph) =>
  edges.map(({ from, to, kind }) => `${from.split(':').at(-1)} ${kind} ${to.split(':').at(-1)}`).sort();

test('what depends on a dataset, and where it comes from', async () => {
  const { graph, cleanRun } = await city();
  assert.deepEqual(render(await graph('dataset=clean&direction=DOWNSTREAM&depth=1')), [
    'clean reads daily.orch.yaml',
    'daily.orch.yaml writes daily',
  ]);
  const down = await graph('dataset=clean&direction=DOWNSTREAM');
  assert.ok(render(down).includes('report.orch.yaml writes report'));
  assert.deepEqual(render(await graph('dataset=clean&direction=UPSTREAM')), [
    'clean.orch.yaml writes clean',
    'raw reads clean.orch.yaml',
  ]);
  assert.equal((await graph('dataset=clean')).edges.length, 6);
  const clean = down.nodes.find(({ name }) => name === 'clean');
  assert.equal(clean?.lastRun?.pipelineExecutionId, cleanRun);
  assert.equal(clean?.lastRun?.versionName, 'v2');
});

test('of the runs of a pipeline that end in one batch, the last one is shown', async () => {
  const scene = await createLineageScene(server);
  const works = [await scene.start(), await scene.start()].sort((a, b) => (a.workId < b.workId ? -1 : 1));
  for (const [index, work] of works.entries()) {
    await scene.instance.report(work, { type: 'started' });
    await scene.succeed(work, copyOf('raw', `copy${index}`, 'a'));
  }
  const outcome = { status: 'SUCCESS' };
  const reports = works.map(({ workId, epoch }) => ({
    workId,
    epoch,
    sequence: 3,
    type: 'completed',
    outcome,
  }));
  await scene.agent.client.post('/reports', { instanceId: scene.instance.instanceId, reports });
  const listWaiting = () =>
    server.database.query('select from lineage_event where account_id = $1 and work_id is not null', [
      scene.account.accountId,
    ]);
  assert.equal((await listWaiting()).length, 1);
  await scene.account.updateLineage();
  assert.equal((await listWaiting()).length, 0);
  const path = `${scene.project.path}/lineage/graph?environmentName=dev&pipeline=main`;
  assert.deepEqual(render((await scene.admin.get<Graph>(path)).body), [
    'main.orch.yaml writes copy1',
    'raw reads main.orch.yaml',
  ]);
});

test('a pipeline with and without its extension', async () => {
  const { graph } = await city();
  const expected = [
    'clean reads daily.orch.yaml',
    'clean.orch.yaml writes clean',
    'daily reads report.orch.yaml',
    'daily.orch.yaml writes daily',
  ];
  assert.deepEqual(render(await graph('pipeline=daily&depth=1')), expected);
  assert.deepEqual(render(await graph('pipeline=daily.orch.yaml&depth=1')), expected);
});

test('what breaks if a column goes: columns that derive from it, and datasets whose rows it decides', async () => {
  const { graph } = await city();
  const amount = await graph('column=raw.amount&direction=DOWNSTREAM&depth=10');
  assert.deepEqual(render(amount), [
    'clean.amount derives daily.total',
    'daily.total derives report.total',
    'raw.amount derives clean.amount',
  ]);
  const [total] = amount.edges.filter(({ to }) => to === 'column:warehouse:daily.total');
  assert.equal(total?.transformation, 'AGGREGATED');
  assert.equal(total?.pipelineName, 'daily.orch.yaml');
  assert.deepEqual(render(await graph('column=clean.state&direction=DOWNSTREAM')), [
    'clean.state filters daily',
  ]);
  assert.deepEqual(render(await graph('column=daily.total&direction=UPSTREAM')), [
    'clean.amount derives daily.total',
    'clean.state filters daily',
    'raw.amount derives clean.amount',
    'raw.state derives clean.state',
  ]);
});

/** A pipeline that writes all the tables that it reads, and computes each column of the first one from all of them. */
async function circle(count: number, columns: string[]) {
  const scene = await city();
  const [first, ...others] = Array.from({ length: count }, (_, index) => table(`t${index}`, ...columns));
  if (first === undefined) throw new Error('a circle needs a table');
  const of = (field: string) => ({ dataset: 0, field });
  const inputs = columns.map((field) => ({ ...of(field), transformation: 'CHANGED' as const }));
  const output = { ...first, columns: columns.map((name) => ({ name, inputs })), decidedBy: columns.map(of) };
  await scene.run({ inputs: [first, ...others], outputs: [output, ...others] }, 'main');
  await scene.account.updateLineage();
  return scene;
}

test('in circles each edge is found once, and does not count against the limit again', async () => {
  const { graph } = await circle(200, ['a']);
  const datasets = await graph('dataset=t1&depth=10');
  assert.equal(datasets.truncated, false);
  assert.equal(datasets.edges.length, 400);
});

test('columns of a table that decide about and derive from each other are found once', async () => {
  const { graph } = await circle(
    1,
    Array.from({ length: 40 }, (_, index) => `c${index}`),
  );
  const columns = await graph('column=t0.c1&depth=10');
  assert.equal(columns.truncated, false);
  assert.equal(columns.edges.filter(({ kind }) => kind === 'derives').length, 1_600);
  assert.equal(columns.edges.filter(({ kind }) => kind === 'filters').length, 40);
});

test('the latest successful run counts; a failed one changes nothing', async () => {
  const { graph, run, start, succeed, instance, account, graph: read } = await city();
  const work = await start('clean');
  await instance.report(work, { type: 'started' });
  await succeed(work, copyOf('other', 'clean', 'city'));
  await instance.report(work, { type: 'completed', outcome: { status: 'FAILED' } });
  await account.updateLineage();
  assert.ok(render(await read('dataset=clean&direction=UPSTREAM')).includes('raw reads clean.orch.yaml'));
  await run(copyOf('other', 'clean', 'city'), 'clean');
  await account.updateLineage();
  assert.deepEqual(render(await graph('dataset=clean&direction=UPSTREAM')), [
    'clean.orch.yaml writes clean',
    'other reads clean.orch.yaml',
  ]);
});

test('datasets with their columns, writers, readers and last numbers', async () => {
  const { admin, project, start, succeed, instance, account } = await city();
  const work = await start('clean');
  await instance.report(work, { type: 'started' });
  const writtenAt = server.clock.now().toISOString();
  await succeed(work, copyOf('raw', 'clean', 'city', 'amount', 'state'));
  server.clock.advance(5);
  await instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
  await account.updateLineage();
  const list = `${project.path}/datasets?environmentName=dev`;
  const { body } = await admin.get<Page<DatasetItem>>(list);
  assert.equal(body.total, 4);
  assert.deepEqual(
    body.results.map(({ name }) => name),
    ['clean', 'daily', 'raw', 'report'],
  );
  const [clean, , raw] = body.results;
  assert.deepEqual(clean?.writers, ['clean.orch.yaml']);
  assert.deepEqual(clean?.readers, ['daily.orch.yaml']);
  assert.equal(clean?.lastRowCount, 3);
  assert.equal(clean?.lastWrittenAt, writtenAt);
  assert.deepEqual(
    clean?.columns.map(({ name }) => name),
    ['city', 'amount', 'state'],
  );
  assert.equal(raw?.lastWrittenAt, undefined);
  requireProblem(
    await admin.get(`${project.path}/datasets?environmentName=none`),
    404,
    'environment-not-found',
  );
});

test('a dataset that its run drops is not listed; columns are followed through it', async () => {
  const { admin, project, start, succeed, instance, account, graph } = await city();
  const work = await start('main');
  await instance.report(work, { type: 'started' });
  await succeed(work, copyOf('report', 'work_table', 'total'));
  await succeed(work, copyOf('work_table', 'final', 'total'));
  await succeed(work, {
    inputs: [],
    outputs: [{ kind: 'warehouse', name: 'work_table', dropped: true }],
  });
  await instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
  await account.updateLineage();
  const { body } = await admin.get<Page<DatasetItem>>(`${project.path}/datasets?environmentName=dev`);
  assert.ok(body.results.every(({ name }) => name !== 'work_table'));
  assert.ok(body.results.some(({ name }) => name === 'final'));
  const walked = render(await graph('column=report.total&direction=DOWNSTREAM'));
  assert.deepEqual(walked, ['report.total derives work_table.total', 'work_table.total derives final.total']);
});

test('unknown starts are 404, none or two are 400, and other environments show nothing', async () => {
  const { admin, account, project, path } = await city();
  for (const [start, nearest] of [
    ['dataset=nothing', undefined],
    ['column=clean.nothing', undefined],
    ['dataset=claen', 'clean'],
    ['column=Report.totl', 'report.total'],
    ['column=total', 'daily.total'],
    ['pipeline=cleen.orch.yaml', 'clean.orch.yaml'],
  ] as const) {
    const { detail } = requireProblem(await admin.get(`${path}&${start}`), 404, 'lineage-not-found');
    assert.equal(/did you mean "?(.*?)"?\?/i.exec(detail)?.[1], nearest, detail);
  }
  requireProblem(await admin.get(`${path}&dataset=clean&pipeline=clean`), 400, 'invalid-request');
  requireProblem(await admin.get(path), 400, 'invalid-request');
  const prod = path.replace('dev', 'prod');
  requireProblem(await admin.get(`${prod}&dataset=clean`), 404, 'lineage-not-found');
  const viewer = await account.actor('MEMBER', {
    projectId: project.projectId,
    environmentName: 'prod',
    role: 'VIEWER',
  });
  requireProblem(await viewer.get(`${path}&dataset=clean`), 403, 'forbidden');
  requireProblem(await viewer.get(`${prod}&dataset=clean`), 404, 'lineage-not-found');
});

test('the graph goes with its environment', async () => {
  const { admin, project, account, run } = await city();
  await run(copyOf('late', 'later', 'x'), 'main');
  assert.equal((await admin.delete(`${project.path}/environments/dev?confirm=true`)).status, 204);
  await admin.post(`${project.path}/environments`, { name: 'dev' });
  await account.updateLineage();
  const { body } = await admin.get<Page<DatasetItem>>(`${project.path}/datasets?environmentName=dev`);
  assert.deepEqual(body.results, []);
});
