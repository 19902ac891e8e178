/** An agent deleted with force=true: its credential is useless from that moment on. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { operations } from '@headgate/contract';
import { createInstance } from '../../../testing/agent.ts';
import { createClient, requireProblem } from '../../../testing/client.ts';
import { claimOne, createExecution, instanceId } from '../../../testing/executions.ts';
import { protocolExamples } from '../../../testing/guards.ts';
import { createPlace, type Place } from '../../../testing/place.ts';
import { createSealingAgent } from '../../../testing/sealing-agent.ts';
import { patientRequests, startTestServer } from '../../../testing/server.ts';
import { waitUntil } from '../../../testing/waiting.ts';

const server = await startTestServer(patientRequests);
const other = await startTestServer({ database: server.database });
const ofAgents = operations.filter((operation) => operation.surface === 'agent');

/** A connected agent with one run that it holds and one that is queued. */
async function running() {
  const place = await createPlace(await server.account());
  await createInstance(place.agent).hello();
  const { work } = await claimOne(place);
  const waiting = await createExecution(place);
  const held = `${place.project.path}/pipeline-executions/${work.workId}`;
  const path = `/agents/${place.agent.agentId}`;
  return { ...place, admin: place.account.admin, path, held, waiting };
}

async function eventsOf({ account }: Place, name: string) {
  return server.database.query<{ state_after: object | null; subject_id: string }>(
    'select state_after, subject_id from event where account_id = $1 and name = $2',
    [account.accountId, name],
  );
}

test('a connected agent is deleted only with force; its work ends, and the event has `forced`', async () => {
  const at = await running();
  const { admin, path, held, waiting, agent } = at;
  const refused = requireProblem(await admin.delete(path), 409, 'agent-not-stopped');
  assert.match(refused.detail, /is running; .* or send force=true/);
  requireProblem(await admin.delete(`${path}?force=false`), 409, 'agent-not-stopped');
  requireProblem(await admin.delete(`${path}?force=perhaps`), 400, 'invalid-request');
  assert.equal((await admin.delete(`${path}?force=true`)).status, 202);
  requireProblem(await admin.get(path), 404, 'agent-not-found');
  for (const execution of [held, waiting]) {
    const { status, message } = (await admin.get<{ status: string; message: string }>(execution)).body;
    assert.deepEqual([status, message], ['CANCELLED', 'The agent was deleted.']);
  }
  const [event] = await eventsOf(at, 'agent-deleted');
  assert.deepEqual([event?.subject_id, event?.state_after], [agent.agentId, { forced: true }]);
  await server.sweep();
  assert.equal((await eventsOf(at, 'pipeline-execution-ended')).length, 2, 'each run ended once');
});

test('a stopped agent can be deleted with or without force', async () => {
  for (const query of ['', '?force=true']) {
    const at = await createPlace(await server.account());
    assert.equal((await at.account.admin.delete(`/agents/${at.agent.agentId}${query}`)).status, 202);
    assert.equal((await eventsOf(at, 'agent-deleted'))[0]?.state_after, null);
  }
});

test('its tokens are refused by every operation at once, and it gets no new one', async () => {
  const at = await running();
  const { agent, admin, path } = at;
  const examples = [];
  for (const operation of ofAgents)
    examples.push({ operation, example: await protocolExamples[operation.id]?.(at) });
  for (const { operation, example } of examples) {
    assert.ok(example, operation.id);
    // The server has it in its cache.
    await agent.client.post('/heartbeats', { instanceId, held: [] });
  }
  assert.equal((await admin.delete(`${path}?force=true`)).status, 202);
  for (const { operation, example } of examples) {
    const { path: of = '', ...asked } = example ?? {};
    requireProblem(await agent.client.send(operation.method, of, asked), 401, 'token-invalid');
  }
  const form = { grant_type: 'client_credentials', client_id: agent.clientId };
  const body = new URLSearchParams({ ...form, client_secret: agent.secret.reveal() }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const anonymous = createClient(server.transport, '', async () => undefined);
  assert.equal((await anonymous.post('/oauth/dpc/token', body, { headers })).status, 401);
});

test('its waiting claim is refused at once, even on another server', async () => {
  for (const there of [server, other]) {
    const { agent, admin, path } = await running();
    const token = await agentToken(agent);
    const client = createClient(there.transport, '/agent/v1', async () => token);
    const claim = { instanceId: randomUUID(), max: 0, waitSeconds: 25 };
    await client.post('/heartbeats', { instanceId: claim.instanceId, held: [] });
    const waits = client.post('/claims', claim);
    await waitUntil('a waiting claim', 120, () => there.deps.wakes.countWaiting(agent.agentId) > 0);
    assert.equal((await admin.delete(`${path}?force=true`)).status, 202);
    // At the end of its time it would get an empty response.
    requireProblem(await waits, 401, 'token-invalid');
  }
});

test('its certificates are revoked: a pending value is not written, and the waiting request fails', async () => {
  const account = await server.account();
  const agent = await createSealingAgent(account);
  const place = { account } as Place;
  const secret = { name: 'orders', type: 'PASSWORD', value: { password: 'x'.repeat(20) } };
  const written = account.admin.post(`/secrets/${agent.agentId}/secret-value`, { secret });
  const work = (await agent.next()) ?? assert.fail('nothing came to the agent');
  assert.equal((await account.admin.delete(`/agents/${agent.agentId}?force=true`)).status, 202);
  assert.ok([404, 409, 502, 504].includes((await written).status), (await written).text);
  requireProblem(
    await agent.client.post('/heartbeats', {
      instanceId: agent.instanceId,
      held: [{ workId: work.workId, epoch: work.epoch }],
    }),
    401,
    'token-invalid',
  );
  assert.equal((await eventsOf(place, 'certificate-revoked')).length, 1);
  requireProblem(await account.admin.get(`/agents/${agent.agentId}/certificate`), 404, 'agent-not-found');
});

async function agentToken({ clientId, secret }: Awaited<ReturnType<typeof running>>['agent']) {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret.reveal() };
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const anonymous = createClient(server.transport, '', async () => undefined);
  const answer = await anonymous.post<{ access_token: string }>(
    '/oauth/dpc/token',
    new URLSearchParams(form).toString(),
    { headers },
  );
  return answer.body.access_token;
}
