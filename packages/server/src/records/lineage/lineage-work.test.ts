/** Runs whose lineage cannot be added to the graph delay no others, and are given up after some attempts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DatasetItem, Page } from '@headgate/contract';
import { copyOf, createLineageScene } from '../../../testing/lineage-scene.ts';
import { startTestServer } from '../../../testing/server.ts';
import { listDueWork } from '../../kernel/work/due-work.ts';
import { createServerWorker } from '../../kernel/work/server-worker.ts';
import { createGraphWork } from './lineage-graph.work.ts';
import { graphKind } from './recording.store.ts';

const server = await startTestServer();

async function breakRecord(runId: string): Promise<void> {
  await server.database.query(
    `update lineage_event set record = jsonb_set(record, '{steps}', '7') where run_id = $1 and event_type = 'COMPLETE'`,
    [runId],
  );
}

const listWaiting = (accountId: string) =>
  server.database.query<{ account_id: string; work_id: string }>(
    'select account_id, work_id from server_work where account_id = $1 and kind = $2 order by due_at',
    [accountId, graphKind],
  );

/** A server that has room for one. */
async function takeOne(work: { account_id: string; work_id: string }): Promise<void> {
  const worker = createServerWorker(server.deps, createGraphWork(server.deps));
  await worker.take([work]);
  await worker.wait();
}

async function scene() {
  const made = await createLineageScene(server);
  const listNames = async () => {
    const path = `${made.project.path}/datasets?environmentName=dev`;
    return (await made.admin.get<Page<DatasetItem>>(path)).body.results.map(({ name }) => name);
  };
  const listFailures = async () => {
    const path = '/events?after=oldest&eventName=lineage-graph-failed';
    return (await made.admin.get<Page<{ eventSubjectId: string }>>(path)).body.results;
  };
  return { ...made, listNames, listFailures };
}

test('a run that fails is tried again later, delays no other one, and is given up with an event', async () => {
  const { account, run, publish, listNames, listFailures } = await scene();
  await publish('dev', 'v2', ['main.orch.yaml', 'other.orch.yaml']);
  const broken = await run(copyOf('a', 'b', 'x'), 'main');
  await breakRecord(broken);
  await run(copyOf('c', 'd', 'x'), 'other');
  await account.updateLineage();
  assert.deepEqual(await listNames(), ['c', 'd']);
  for (const seconds of [10, 60, 600, 3_600]) {
    assert.deepEqual(await listFailures(), []);
    server.clock.advance(seconds);
    await account.updateLineage();
  }
  const [failure, ...more] = await listFailures();
  assert.deepEqual([failure?.eventSubjectId, more.length], [broken, 0]);
  const left = await server.database.query("select from server_work where kind = 'lineage-graph'");
  assert.equal(left.length, 0);
});

test('a failure that passes loses nothing', async () => {
  const { account, run, listNames, listFailures } = await scene();
  await server.database.query('alter table column_use rename to column_use_away');
  await run(copyOf('a', 'b', 'x'));
  await account.updateLineage();
  assert.deepEqual(await listNames(), []);
  await server.database.query('alter table column_use_away rename to column_use');
  server.clock.advance(10);
  await account.updateLineage();
  assert.deepEqual(await listNames(), ['a', 'b']);
  assert.deepEqual(await listFailures(), []);
});

test('one work adds the last of the runs of a pipeline that wait, and takes the others along', async () => {
  const { account, run, listNames } = await scene();
  for (const name of ['b1', 'b2', 'b3']) {
    await run(copyOf('a', name, 'x'));
    server.clock.advance(1);
  }
  const [first] = await listWaiting(account.accountId);
  assert.ok(first);
  await takeOne(first);
  assert.deepEqual(await listNames(), ['a', 'b3']);
  assert.deepEqual(await listWaiting(account.accountId), []);
});

test('a run that fails takes no other one along', async () => {
  const { account, run, listNames, listFailures } = await scene();
  await run(copyOf('a', 'b', 'x'));
  server.clock.advance(1);
  await breakRecord(await run(copyOf('c', 'd', 'x')));
  const [first] = await listWaiting(account.accountId);
  assert.ok(first);
  await takeOne(first);
  assert.equal((await listWaiting(account.accountId)).length, 2);
  server.clock.advance(10);
  await account.updateLineage();
  assert.deepEqual(await listNames(), ['a', 'b']);
  assert.equal((await listWaiting(account.accountId)).length, 1);
  assert.deepEqual(await listFailures(), []);
});

test('a run that another server holds is left to it', async () => {
  const { account, run } = await scene();
  await run(copyOf('a', 'b', 'x'));
  server.clock.advance(1);
  await run(copyOf('a', 'c', 'x'));
  const [first, second] = await listWaiting(account.accountId);
  assert.ok(first && second);
  const lease = 'update server_work set lease_until = $2, epoch = 9, attempts = 1 where work_id = $1';
  await server.database.query(lease, [second.work_id, new Date(server.clock.now().getTime() + 60_000)]);
  await takeOne(first);
  assert.deepEqual(await listWaiting(account.accountId), [second]);
  await server.database.query('delete from server_work where work_id = $1', [second.work_id]);
});

test('work whose run is gone ends', async () => {
  const { account, run } = await scene();
  await run(copyOf('a', 'b', 'x'));
  await server.database.query('delete from lineage_event where account_id = $1', [account.accountId]);
  await account.updateLineage();
  assert.deepEqual(await listWaiting(account.accountId), []);
});

test('a run that a server of the release before ends is added', async () => {
  const { account, run, listNames } = await scene();
  const runId = await run(copyOf('a', 'b', 'x'));
  await server.database.query(
    `with before as (delete from lineage_event where run_id = $1 and event_type = 'COMPLETE' returning *),
       work as (delete from server_work w using before where w.work_id = before.work_id)
     insert into lineage_event (account_id, generated_at, run_id, event_type, record, is_new)
     select account_id, generated_at, run_id, event_type, record, true from before`,
    [runId],
  );
  assert.equal((await listWaiting(account.accountId)).length, 1);
  await account.updateLineage();
  assert.deepEqual(await listNames(), ['a', 'b']);
  assert.deepEqual(await listWaiting(account.accountId), []);
});

test('accounts take turns', async () => {
  const [busy, other] = [await scene(), await scene()];
  for (let count = 0; count < 6; count += 1) await busy.run(copyOf('a', `b${count}`, 'x'));
  await other.run(copyOf('a', 'b', 'x'));
  const look = { kind: graphKind, after: '00000000-0000-0000-0000-000000000000', fullAccounts: [], held: [] };
  const now = server.clock.now();
  const due = await listDueWork(server.deps.database.read, { ...look, limit: 4, mostInterrupted: 1, now });
  assert.ok(due.slice(0, 4).some(({ account_id }) => account_id === other.account.accountId));
  await other.account.updateLineage();
});
