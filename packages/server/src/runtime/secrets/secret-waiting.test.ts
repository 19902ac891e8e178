/** Writing a secret while the agent has not answered. The test plays the agent. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BodyOf, writeSecretValue } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { createSealingAgent } from '../../../testing/sealing-agent.ts';
import { patientRequests, startTestServer } from '../../../testing/server.ts';

const server = await startTestServer(patientRequests);
const impatient = await startTestServer({
  database: server.database,
  settings: { HEADGATE_SECRET_WAIT_SECONDS: '1' },
});
type Secret = BodyOf<typeof writeSecretValue>['secret'];
const password: Secret = { name: 'orders-api', type: 'PASSWORD', value: { password: 'x1' } };

async function scene(of = server) {
  const account = await of.account();
  const agent = await createSealingAgent(account);
  const write = (secret: object, key?: string) =>
    account.admin.post<object>(
      `/secrets/${agent.agentId}/secret-value`,
      { secret },
      key === undefined ? {} : { headers: { 'idempotency-key': key } },
    );
  return { account, agent, write };
}

test('without a response in time the status is 504; the same key returns the result later, even on another server', async () => {
  const { agent, write, account } = await scene(impatient);
  requireProblem(await write(password, 'later'), 504, 'agent-timeout');
  const work = await agent.next(0);
  assert.ok(work);
  await agent.end(work);
  impatient.clock.advance(2);
  const late = await write(password, 'later');
  assert.equal(late.status, 201);
  const again = await write(password, 'later');
  assert.equal(again.headers['idempotency-replayed'], 'true');
  assert.deepEqual(again.body, late.body);
  const [{ count } = { count: 0 }] = await server.database.query<{ count: number }>(
    'select count(*)::integer as count from secret_write where account_id = $1',
    [account.accountId],
  );
  assert.equal(count, 1);
  requireProblem(
    await write({ ...password, value: { password: 'other' } }, 'later'),
    422,
    'idempotency-key-reused',
  );
});

test('while a request waits, another one with its key gets 409', async () => {
  const { agent, write } = await scene();
  const first = write(password, 'waiting');
  const work = await agent.next();
  assert.ok(work);
  requireProblem(await write(password, 'waiting'), 409, 'idempotency-key-in-use');
  await agent.end(work);
  assert.equal((await first).status, 201);
});

test('the sealed value is deleted when its work ends, and unclaimed work ends when the value expires', async () => {
  const { account, agent, write } = await scene(impatient);
  const kept = async () =>
    server.database.query<{ status: string; sealed_value: string | null }>(
      'select status, sealed_value from secret_write where account_id = $1',
      [account.accountId],
    );
  requireProblem(await write(password), 504, 'agent-timeout');
  assert.match((await kept())[0]?.sealed_value ?? '', /^ey/);
  impatient.clock.advance(301);
  await impatient.sweep();
  assert.deepEqual(await kept(), [{ status: 'FAILED', sealed_value: null }]);
  assert.equal(await agent.next(0), undefined);
});
