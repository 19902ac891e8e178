/** Each run has one START and one end as OpenLineage events, whoever ends it. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { RunEvent } from '@headgate/contract';
import { createInstance } from '../../../testing/agent.ts';
import { requireProblem } from '../../../testing/client.ts';
import { copyOf, createLineageScene, requireValidEvent, table } from '../../../testing/lineage-scene.ts';
import { startTestServer } from '../../../testing/server.ts';
import { createTestExecution, createTestingInstance } from '../../../testing/tested-project.ts';
import { createWebhookScene, loopbackAllowed } from '../../../testing/webhook-scene.ts';
import { applyRetention } from '../../kernel/retention/retention.ts';
import { lineageRetention } from './lineage-event.store.ts';

const server = await startTestServer(loopbackAllowed);
type Scene = Awaited<ReturnType<typeof createLineageScene>>;

const facetOf = <Facet>(facets: object | undefined, name: string) =>
  (facets as Record<string, Facet> | undefined)?.[name];
interface Statistics {
  rowCount: number;
}
interface Parent {
  run: { runId: string };
}

const listTypes = async ({ readEvents }: Scene) =>
  (await readEvents()).map(({ event }) => `${event.job.name} ${event.eventType}`);

test('a run has a START and a COMPLETE with what its steps read and wrote', async () => {
  const scene = await createLineageScene(server);
  const work = await scene.start();
  await scene.instance.report(work, { type: 'started' });
  await scene.succeed(
    work,
    {
      inputs: [table('sales.orders', 'city', 'amount', 'state')],
      outputs: [
        {
          ...table('sales.by_city', 'city', 'total'),
          columns: [
            { name: 'city', inputs: [{ dataset: 0, field: 'city', transformation: 'IDENTITY' }] },
            { name: 'total', inputs: [{ dataset: 0, field: 'amount', transformation: 'AGGREGATED' }] },
          ],
          decidedBy: [{ dataset: 0, field: 'state' }],
          rowCount: 7,
          createdOrReplaced: true,
        },
      ],
      gaps: ['The statement 2 could not be analyzed.'],
    },
    { sql: 'create table by_city as …' },
  );
  await scene.instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
  const [started, final, ...others] = await scene.readEvents();
  assert.deepEqual(others, []);
  assert.equal(started?.event.eventType, 'START');
  const event = final?.event;
  assert.ok(event);
  assert.equal(event.eventType, 'COMPLETE');
  assert.equal(event.run.runId, work.workId);
  assert.match(event.job.namespace, new RegExp(`^headgate://${scene.project.projectId}\\.[0-9a-f-]{36}$`));
  assert.equal(event.job.name, 'main.orch.yaml');
  assert.equal(event.job.namespace, started.event.job.namespace);
  assert.equal(facetOf<{ query: string }>(event.job.facets, 'sql')?.query, 'create table by_city as …');
  const [output] = event.outputs;
  const lineage = facetOf<{
    fields: Record<string, { inputFields: { namespace: string; name: string; field: string }[] }>;
    dataset: { namespace: string; name: string; field: string }[];
  }>(output?.facets, 'columnLineage');
  assert.ok(lineage);
  const named = [...Object.values(lineage.fields).flatMap((each) => each.inputFields), ...lineage.dataset];
  for (const { namespace, name } of named)
    assert.ok(event.inputs.some((input) => input.namespace === namespace && input.name === name));
  assert.deepEqual(
    named.map(({ field }) => field),
    ['city', 'amount', 'state'],
  );
  assert.equal(facetOf<Statistics>(output?.outputFacets, 'outputStatistics')?.rowCount, 7);
  const gaps = facetOf<{ errors: { errorMessage: string }[] }>(event.run.facets, 'extractionError');
  assert.equal(gaps?.errors[0]?.errorMessage, 'The statement 2 could not be analyzed.');
});

test('a report that is sent twice counts once', async () => {
  const scene = await createLineageScene(server);
  const work = await scene.start();
  const lineage = copyOf('a', 'b', 'x');
  const stepId = randomUUID();
  await scene.instance.report(work, { type: 'started' });
  await scene.succeed(work, lineage, { stepId, sequence: 2 });
  await scene.succeed(work, lineage, { stepId, sequence: 2 });
  await scene.succeed(work, lineage, { stepId, sequence: 3 });
  const end = { type: 'completed', outcome: { status: 'SUCCESS' } } as const;
  await scene.instance.report(work, end, 4);
  await scene.instance.report(work, end, 4);
  assert.deepEqual(await listTypes(scene), ['main.orch.yaml START', 'main.orch.yaml COMPLETE']);
  const { event } = (await scene.readEvents())[1] ?? {};
  assert.equal(facetOf<Statistics>(event?.outputs[0]?.outputFacets, 'outputStatistics')?.rowCount, 3);
});

test('a run whose agent dies ends with FAIL and what it had reported', async () => {
  const scene = await createLineageScene(server);
  const work = await scene.start();
  await scene.instance.report(work, { type: 'started' });
  await scene.succeed(work, copyOf('a', 'b', 'x'));
  server.clock.advance(60);
  await scene.sweepAll();
  const events = await scene.readEvents();
  assert.deepEqual(
    events.map(({ event }) => event.eventType),
    ['START', 'FAIL'],
  );
  const failed = events[1]?.event;
  assert.match(JSON.stringify(failed?.run.facets?.errorMessage), /stopped responding/);
  assert.equal(failed?.outputs[0]?.name, 'b');
  // The agent returns with the result.
  await createInstance(scene.agent).report(work, { type: 'completed', outcome: { status: 'SUCCESS' } }, 9);
  assert.equal((await scene.readEvents()).length, 2);
});

test('called pipelines have events of their own, which name the calling run', async () => {
  const scene = await createLineageScene(server);
  const work = await scene.start();
  await scene.instance.report(work, { type: 'started' });
  const [child, grandchild, calling, deep] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  const call = (run: string, id: string, stepId: string, name: string, status: 'RUNNING' | 'SUCCESS') =>
    scene.instance.report(work, {
      type: 'progress',
      steps: [
        scene.createStep(run, {
          ...{ stepId, status, name: 'Call', componentType: 'run-transformation' },
          childPipeline: { id, name },
        }),
      ],
    });
  await call(work.workId, child, calling, 'load.orch.yaml', 'RUNNING');
  await call(child, grandchild, deep, 'clean.tran.yaml', 'RUNNING');
  await scene.succeed(work, copyOf('a', 'b', 'x'), { pipelineRunId: grandchild });
  await call(child, grandchild, deep, 'clean.tran.yaml', 'SUCCESS');
  // The child is under way when the execution is lost.
  server.clock.advance(60);
  await scene.sweepAll();
  assert.deepEqual(await listTypes(scene), [
    'main.orch.yaml START',
    'load.orch.yaml START',
    'clean.tran.yaml START',
    'clean.tran.yaml COMPLETE',
    'main.orch.yaml FAIL',
    'load.orch.yaml FAIL',
  ]);
  const events = (await scene.readEvents()).map(({ event }) => event);
  const clean = events[3];
  assert.equal(clean?.inputs[0]?.name, 'a');
  assert.deepEqual(facetOf<Parent>(clean?.run.facets, 'parent')?.run, { runId: child });
  assert.deepEqual(facetOf<Parent>(events[1]?.run.facets, 'parent')?.run, { runId: work.workId });
  assert.equal(events[4]?.inputs.length, 0);
});

test('a run that is cancelled before an agent takes it has a START and an ABORT', async () => {
  const scene = await createLineageScene(server);
  const path = `${scene.project.path}/pipeline-executions`;
  const body = { pipelineName: 'main', environmentName: 'dev' };
  const { pipelineExecutionId: id } = (await scene.admin.post<{ pipelineExecutionId: string }>(path, body))
    .body;
  await scene.admin.patch(`${path}/${id}`, { status: 'CANCELLED' });
  assert.deepEqual(await listTypes(scene), ['main.orch.yaml START', 'main.orch.yaml ABORT']);
});

test('a run that goes with its project ends, and its events stay', async () => {
  const scene = await createLineageScene(server);
  const work = await scene.start();
  await scene.instance.report(work, { type: 'started' });
  await scene.admin.delete(scene.project.path);
  assert.deepEqual(await listTypes(scene), ['main.orch.yaml START', 'main.orch.yaml ABORT']);
});

test('lineage beyond the limits is left out, and the event says so', async () => {
  const scene = await createLineageScene(server);
  const work = await scene.start();
  await scene.instance.report(work, { type: 'started' });
  const wide = Array.from({ length: 1_000 }, (_, index) => `column_${index}_${'x'.repeat(300)}`);
  await scene.succeed(work, copyOf('wide', 'wider', ...wide));
  const half = wide.slice(0, 300);
  for (let step = 0; step < 4; step += 1) await scene.succeed(work, copyOf('half', `half_${step}`, ...half));
  await scene.instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
  const { event } = (await scene.readEvents())[1] ?? {};
  const text = JSON.stringify(event?.run.facets?.extractionError);
  assert.match(text, /its columns are left out/);
  assert.match(text, /that of 2 steps is left out/);
  assert.ok(event?.outputs.some(({ name }) => name === 'wider'));
});

test('events are listed by time, oldest first, in pages, to Super Admins only', async () => {
  const scene = await createLineageScene(server);
  const before = server.clock.now();
  await scene.run(copyOf('a', 'b', 'x'));
  server.clock.advance(1);
  await scene.run(copyOf('b', 'c', 'x'));
  const all = (await scene.readEvents()).map(({ id }) => id);
  assert.equal(all.length, 4);
  const [first, second] = [0, 1].map((page) => scene.readEvents(`&size=2&page=${page}`));
  const paged = [...((await first) ?? []), ...((await second) ?? [])].map(({ id }) => id);
  assert.deepEqual(paged, all);
  const list = (from: Date, until: Date) =>
    `/lineage/events?generatedFrom=${from.toISOString()}&generatedBefore=${until.toISOString()}`;
  const { body } = await scene.admin.get<{ total: number }>(list(before, server.clock.now()));
  assert.equal(body.total, 2);
  requireProblem(await scene.admin.get(list(before, before)), 400, 'invalid-request');
  const member = await scene.account.actor('ADMIN');
  requireProblem(await member.get(list(before, server.clock.now())), 403, 'forbidden');
});

test('a webhook forwards events in their order, and again after a failure', async () => {
  const scene = await createLineageScene(server);
  const { account } = scene;
  const hook = await createWebhookScene(server, {
    account,
    wanted: { format: 'openlineage', eventNames: undefined },
  });
  after(hook.receiver.close);
  assert.deepEqual((await hook.read()).eventNames, ['lineage-recorded']);
  hook.receiver.answer = 500;
  const run = await scene.run(copyOf('a', 'b', 'x'));
  await hook.send();
  hook.receiver.answer = 204;
  server.clock.advance(3_600);
  await hook.send();
  const bodies = hook.receiver.received.map(({ body }) => JSON.parse(body) as RunEvent);
  assert.deepEqual(
    bodies.map(({ eventType }) => eventType),
    ['START', 'START', 'COMPLETE'],
  );
  for (const body of bodies) requireValidEvent(body);
  assert.equal(bodies[2]?.run.runId, run);
  assert.deepEqual(
    bodies.slice(1),
    (await scene.readEvents()).map(({ event }) => event),
  );
  await scene.admin.post(`${hook.path}/test`);
  await hook.send();
  const tested = JSON.parse(hook.receiver.received.at(-1)?.body ?? '') as RunEvent;
  requireValidEvent(tested);
  assert.equal(tested.eventType, 'OTHER');
});

test('the log has lineage only while a webhook forwards it, and only a webhook that names it gets it', async () => {
  const scene = await createLineageScene(server);
  const { account, admin } = scene;
  const all = await createWebhookScene(server, { account, wanted: { eventNames: [] } });
  after(all.receiver.close);
  const readLog = async () =>
    (await admin.get<{ results: object[] }>('/events?after=oldest&eventName=lineage-recorded')).body.results;
  await scene.run(copyOf('a', 'b', 'x'));
  assert.deepEqual(await readLog(), []);
  const refused = {
    name: 'x',
    url: all.receiver.url,
    format: 'openlineage',
    eventNames: ['project-created'],
  };
  requireProblem(await admin.post('/webhooks', refused), 422, 'webhook-events-of-format');
  await admin.patch(all.path, { format: 'openlineage' });
  await admin.post('/webhooks', { name: 'json', url: all.receiver.url });
  await scene.run(copyOf('a', 'b', 'x'));
  assert.equal((await readLog()).length, 2);
  await all.send();
  const types = all.receiver.received.map(({ event }) => event.type).filter((type) => type !== undefined);
  assert.ok(types.length > 0 && types.every((type) => type !== 'lineage-recorded'), String(types));
});

test('tests make no lineage', async () => {
  const scene = await createLineageScene(server);
  const place = { ...scene, now: server.clock.now(), named: (name: string) => name };
  await createTestExecution(place);
  const instance = await createTestingInstance(place);
  const work = await instance.claimTests();
  await instance.report(work, { type: 'started' });
  await instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
  assert.deepEqual(await scene.readEvents(), []);
});

test('events are removed after their time, but not before the graph has them', async () => {
  const scene = await createLineageScene(server);
  await scene.run(copyOf('a', 'b', 'x'));
  server.clock.advance(366 * 86_400);
  const rules = [lineageRetention(365)];
  const removeOld = () => applyRetention(server.deps, rules, server.clock.now(), async () => {});
  await removeOld();
  assert.deepEqual(await listTypes(scene), ['main.orch.yaml COMPLETE']);
  await scene.account.updateLineage();
  await removeOld();
  assert.deepEqual(await listTypes(scene), []);
});

test('lineage for a run of another execution is refused', async () => {
  const { start, createStep, instance } = await createLineageScene(server);
  const [work, other] = [await start(), await start()];
  await instance.report(work, { type: 'started' });
  const step = createStep(work.workId);
  const lineage = [{ ...copyOf('a', 'b', 'x'), stepId: step.stepId, pipelineRunId: other.workId }];
  const result = await instance.report(work, { type: 'progress', steps: [step], lineage });
  assert.equal(result.accepted ? 'accepted' : result.code, 'run-of-another-work');
});
