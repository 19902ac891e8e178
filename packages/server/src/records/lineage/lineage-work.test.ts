/** Runs whose lineage cannot be added to the graph delay no others, and are given up after some attempts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DatasetItem, Page } from '@headgate/contract';
import { copyOf, createLineageScene } from '../../../testing/lineage-scene.ts';
import { startTestServer } from '../../../testing/server.ts';
import { listDueWork } from '../../kernel/work/due-work.ts';
import { graphKind } from './recording.store.ts';

const server = await startTestServer();

async function breakRecord(runId: string): Promise<void> {
  await server.database.query(
    `update lineage_event set record = jsonb_set(record, '{steps}', '7') where run_id = $1 and event_type = 'COMPLETE'`,
    [runId],
  );
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
