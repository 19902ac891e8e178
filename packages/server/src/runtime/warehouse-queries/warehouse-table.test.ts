/** Reads of tables: what the agent is asked, and what the request gets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page, TablePreview, WarehouseTable, WarehouseTableDetails } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { createQueryingAgent } from '../../../testing/querying-agent.ts';
import { patientRequests, startTestServer } from '../../../testing/server.ts';

const server = await startTestServer(patientRequests);
const sales = { schema: 'shop', name: 'net.sales', kind: 'TABLE', rows: 3, bytes: 8_192 } as const;
const named = { tableName: 'shop."net.sales"', ...sales };

async function scene() {
  const account = await server.account();
  const { path, projectId } = await account.project();
  const agent = await createQueryingAgent(account);
  const tables = `${path}/environments/dev/tables`;
  return { account, agent, projectId, tables, one: `${tables}/${encodeURIComponent(named.tableName)}` };
}

test('a page of tables is asked of the agent, with its filter', async () => {
  const { account, agent, projectId, tables } = await scene();
  const work = agent.answerRead({ tables: [sales], total: 7 });
  const { body } = await account.admin.get<Page<WarehouseTable>>(`${tables}?page=3&size=2&name=SALES`);
  assert.deepEqual(body, { page: 3, results: [named], size: 2, total: 7 });
  const { read, environmentName, warehouse, projectId: ofProject } = await work;
  assert.deepEqual(read, { type: 'list', contains: 'SALES', offset: 6, limit: 2 });
  assert.deepEqual([environmentName, warehouse.kind, ofProject], ['dev', 'duckdb', projectId]);
});

test('a table and its rows are asked for by schema and name, without their quotation marks', async () => {
  const { account, agent, one, tables } = await scene();
  const columns = [{ name: 'id', type: 'INTEGER', nullable: false }];
  const described = agent.answerRead({ table: { ...sales, columns } });
  const table = await account.admin.get<WarehouseTableDetails>(one);
  assert.deepEqual(table.body, { ...named, columns });
  assert.deepEqual((await described).read, { type: 'describe', schema: 'shop', name: 'net.sales' });
  const preview = { columns: ['id'], rows: [[1]], isCut: true, cutColumns: [] };
  const previewed = agent.answerRead({ preview });
  assert.deepEqual((await account.admin.get<TablePreview>(`${tables}/orders/preview`)).body, preview);
  assert.deepEqual((await previewed).read, { type: 'preview', name: 'orders', maxRows: 20 });
  assert.equal((await account.admin.get(`${tables}/orders/preview?limit=201`)).status, 400);
});

test('a table that is not there is 404, with those that are like it; what is no name is refused', async () => {
  const { account, agent, one, tables } = await scene();
  for (const path of [one, `${one}/preview`]) {
    void agent.answerRead({ nearest: ['shop.sales', 'main.sales'] });
    const { detail } = requireProblem(await account.admin.get(path), 404, 'table-not-found');
    assert.match(detail, /no table "shop\.\\"net\.sales\\"" .* Did you mean shop\.sales or main\.sales\?/);
  }
  for (const name of ['a.b.c', 'shop.', '%22shop', 'a%22b'])
    requireProblem(await account.admin.get(`${tables}/${name}`), 422, 'invalid-table-name');
});

test('a read that no agent can do is refused with the reason', async () => {
  const { account, agent, tables } = await scene();
  void agent.answerRead({ message: 'the connection has no credential for reading' });
  const failed = requireProblem(await account.admin.get(tables), 422, 'warehouse-query-failed');
  assert.match(failed.detail, /no credential for reading/);
  const elsewhere = tables.replace('/dev/', '/none/');
  requireProblem(await account.admin.get(elsewhere), 404, 'environment-not-found');
  const old = await account.agent();
  const hello = {
    protocolVersions: [1],
    agentVersion: '0.1.0',
    abilities: ['warehouse-query'],
    concurrency: 1,
  };
  await old.client.post('/hello', { ...hello, instanceId: '0199a4b0-0000-7000-8000-000000000001' });
  const refused = await account.admin.get(`${tables}?agentId=${old.agentId}`);
  assert.match(requireProblem(refused, 409, 'no-agent-for-query').detail, /is too old to/);
});

test('a viewer of the environment may read its tables, and one of another environment may not', async () => {
  const { account, agent, projectId, tables, one } = await scene();
  const viewer = await account.actor('MEMBER', { projectId, environmentName: 'dev', role: 'VIEWER' });
  const other = await account.actor('MEMBER', { projectId, environmentName: 'prod', role: 'VIEWER' });
  for (const path of [tables, one, `${one}/preview`]) requireProblem(await other.get(path), 403, 'forbidden');
  const answered = agent.answerRead({ tables: [], total: 0 });
  assert.equal((await viewer.get(tables)).status, 200);
  await answered;
});
