/** Queries of warehouses: which agent runs them, and what the request gets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WarehouseRows } from '@headgate/contract';
import type { Grant } from '../../../testing/account.ts';
import { createInstance } from '../../../testing/agent.ts';
import { requireProblem } from '../../../testing/client.ts';
import { createQueryingAgent } from '../../../testing/querying-agent.ts';
import { patientRequests, startTestServer } from '../../../testing/server.ts';
import { sweepWork } from '../../kernel/work/work-sweep.ts';

const server = await startTestServer(patientRequests);
const impatient = await startTestServer({
  database: server.database,
  settings: { HEADGATE_SECRET_WAIT_SECONDS: '1' },
});
const rows: WarehouseRows = { columns: ['a'], rows: [[1], [null]], isCut: true };

async function scene() {
  const account = await server.account();
  const { path, projectId } = await account.project();
  const query = (body: object = {}, headers: Record<string, string> = {}) =>
    account.admin.post<WarehouseRows>(
      `${path}/warehouse-queries`,
      { environmentName: 'dev', sql: 'select a from t', ...body },
      { headers },
    );
  return { account, path, projectId, query };
}

test('the agent of the environment gets the query with its bounds, and the request its rows', async () => {
  const { account, path, projectId, query } = await scene();
  const [oslo] = [await createQueryingAgent(account), await createQueryingAgent(account)];
  await account.admin.patch(`${path}/environments/dev`, { defaultAgentId: oslo.agentId });
  const work = oslo.answerNext(rows);
  const answer = await query({ maxRows: 2 }, { 'idempotency-key': 'one' });
  assert.deepEqual([answer.status, answer.body], [200, rows]);
  const { sql, maxRows, environmentName, warehouse } = await work;
  assert.deepEqual(
    [sql, maxRows, environmentName, warehouse],
    ['select a from t', 2, 'dev', { kind: 'duckdb', sqlDialect: 'SNOWFLAKE', ignoreAccessStatements: false }],
  );
  const next = oslo.answerNext(rows);
  const long = `select '${'x'.repeat(1_991)}😀'`;
  assert.equal((await query({ sql: long })).status, 200, 'its event is cut within a character');
  await next;
  const again = await query({ maxRows: 2 }, { 'idempotency-key': 'one' });
  assert.deepEqual([again.status, again.body], [200, rows], 'no second work');
  const events = await server.database.query<{ name: string }>(
    'select name from event where project_id = $1 and subject_type = $2 order by 1',
    [projectId, 'warehouse-query'],
  );
  const names = events.map(({ name }) => name.replace('warehouse-query-', ''));
  assert.deepEqual(names, ['claimed', 'claimed', 'ended', 'ended', 'requested', 'requested']);
});

test('a refused query says why, and can be repeated under its key', async () => {
  const { account, projectId, query } = await scene();
  const agent = await createQueryingAgent(account);
  const failing = agent.answerNext({ message: 'there is no table t' });
  const refused = await query({}, { 'idempotency-key': 'k' });
  await failing;
  assert.match(requireProblem(refused, 422, 'warehouse-query-failed').detail, /there is no table t/);
  const answering = agent.answerNext(rows);
  assert.equal((await query({}, { 'idempotency-key': 'k' })).status, 200);
  await answering;
  // All readers of the project get events; a message of a warehouse may quote a row.
  const outcomes = await server.database.query<{ after: object }>(
    "select state_after as after from event where project_id = $1 and name = 'warehouse-query-ended' order by event_id",
    [projectId],
  );
  assert.deepEqual(
    outcomes.map(({ after }) => after),
    [{ state: 'FAILED' }, { state: 'ANSWERED' }],
  );
});

test('a query without an agent that can run it is refused with the reason', async () => {
  const { account, path, query } = await scene();
  requireProblem(await query(), 422, 'environment-without-agent');
  const agent = await account.agent();
  assert.match(requireProblem(await query(), 409, 'no-agent-for-query').detail, /is not connected/);
  const hello = { protocolVersions: [1], agentVersion: '0.1.0', abilities: ['secret-check'], concurrency: 1 };
  await agent.client.post('/hello', { ...hello, instanceId: '0199a4b0-0000-7000-8000-000000000001' });
  assert.match(requireProblem(await query(), 409, 'no-agent-for-query').detail, /is too old to run queries/);
  requireProblem(await query({ environmentName: 'none' }), 404, 'environment-not-found');
  requireProblem(await query({ agentId: '0199a4b0-0000-7000-8000-000000000002' }), 422, 'unknown-agent');
  assert.equal((await account.admin.post(`${path}/warehouse-queries`, {})).status, 400);
});

test('a query to a restricted agent whose allowlist lacks the environment is refused at once', async () => {
  const { account, query } = await scene();
  const { agentId } = await createQueryingAgent(account);
  assert.equal((await account.admin.patch(`/agents/${agentId}`, { restrictedAccess: true })).status, 202);
  assert.match(
    requireProblem(await query(), 409, 'no-agent-for-query').detail,
    /its allowlist does not include/,
  );
});

test('a query that the agent does not take in time ends without it', async () => {
  const { account, path } = await scene();
  await createQueryingAgent(account);
  // The bound of the work is by the movable clock.
  const client = impatient;
  const token = await account.admin.token();
  const waiting = client.transport({
    method: 'POST',
    url: `/dpc/v1${path}/warehouse-queries`,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ environmentName: 'dev', sql: 'select 1' }),
  });
  while (
    (await server.database.query('select 1 from agent_request where state = $1', ['PENDING'])).length === 0
  )
    await new Promise((resolve) => setImmediate(resolve));
  server.clock.advance(3_600);
  await server.sweep();
  const { status, text } = await waiting;
  assert.equal(status, 422, text);
  assert.match(text, /no agent|claimed|took|time/i);
});

test('whoever may read the executions of an environment may query it, and nobody else', async () => {
  const { account, path, projectId } = await scene();
  const agent = await createQueryingAgent(account);
  const send = async (role: Grant, environmentName = 'dev') => {
    const actor = await account.actor('MEMBER', role);
    return actor.post(`${path}/warehouse-queries`, {
      environmentName,
      sql: 'select 1',
      agentId: agent.agentId,
    });
  };
  for (const role of [
    { projectId, role: 'VIEWER' },
    { projectId, environmentName: 'dev', role: 'VIEWER' },
    { projectId, environmentName: 'dev', role: 'OPERATOR' },
  ] as const) {
    const answered = agent.answerNext(rows);
    const answer = await send(role);
    assert.equal(answer.status, 200, answer.text);
    await answered;
  }
  const ofProd = await send({ projectId, environmentName: 'prod', role: 'VIEWER' });
  requireProblem(ofProd, 403, 'forbidden');
});

test('a query whose agent dies is not given out again when the time for it is over', async () => {
  const account = await impatient.account();
  const { path } = await account.project();
  const agent = await account.agent();
  const first = createInstance(agent);
  await first.hello({ abilities: ['warehouse-query'] });
  const asked = account.admin.post(`${path}/warehouse-queries`, { environmentName: 'dev', sql: 'select 1' });
  assert.equal((await first.claim(1, 25)).work.length, 1);
  const { deps } = impatient;
  const { leaseSeconds, graceSeconds } = deps.times;
  for (const seconds of [leaseSeconds + 2, graceSeconds + 2]) {
    impatient.clock.advance(seconds);
    // One round: an agent that starts again claims between two of them.
    await sweepWork(deps, deps.owners, deps.times, impatient.clock.now());
  }
  const next = createInstance(agent);
  await next.hello({ abilities: ['warehouse-query'] });
  assert.deepEqual((await next.claim(1, 0)).work, []);
  const answer = await asked;
  assert.ok(answer.status === 422 || answer.status === 504, String(answer.status));
});
