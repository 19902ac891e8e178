/** The test of an endpoint: what the agent is sent, who may, and what is refused before. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccountEventItem, ConnectorOauth, ConnectorTestResult, Page } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { connectorTestResult, createConnectorAgent } from '../../../testing/connector-agent.ts';
import { patientRequests, startTestServer } from '../../../testing/server.ts';
import { addSeconds } from '../../kernel/clock.ts';
import { removeExpiredRequests } from '../../kernel/work/agent-request.ts';
import { buildConnectorProfile } from '../../workspace/connector-profiles/connector-profile.examples.ts';

const server = await startTestServer(patientRequests);
const impatient = await startTestServer({
  database: server.database,
  settings: { HEADGATE_SECRET_WAIT_SECONDS: '1' },
});

async function createScene(on = server) {
  const account = await on.account();
  const { admin } = account;
  const { path: projectPath, projectId } = await account.project();
  await admin.post(`${projectPath}/secret-references/shop-token`, { type: 'PASSWORD', secretName: 'shop' });
  const profile = buildConnectorProfile('Shop');
  const { body: made } = await admin.post<{ id: string }>('/flex-connectors', profile);
  const path = `/flex-connectors/${made.id}/test`;
  const body = {
    projectId,
    environmentName: 'dev',
    endpointId: 'orders',
    parameters: { uriParameters: { shop: 'oslo' } },
    connection: { token: { secretName: 'shop-token' } },
  };
  const send = (input: object = {}, actor = admin) =>
    actor.post<ConnectorTestResult>(path, { ...body, ...input });
  return { account, admin, profile, path, projectPath, projectId, body, send };
}

test('the agent of the environment is sent the endpoint as it is, and its result is the response', async () => {
  const { account, admin, profile, projectId, body, send } = await createScene();
  const agent = await createConnectorAgent(account);
  const [work, answer] = await Promise.all([agent.answerTest(connectorTestResult), send()]);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.body, connectorTestResult);
  assert.equal(work?.kind, 'connector-test');
  const { parameters, connection, environmentName } = body;
  const place = { projectId, environmentName, connectorKind: 'flex', profileName: 'Shop' };
  assert.deepEqual(work.payload, {
    ...place,
    endpoint: profile.endpoints[0],
    parameters,
    connection,
    timeoutSeconds: 96,
  });
  const now = server.clock.now().getTime();
  const [from, to] = [new Date(now - 3_600_000), new Date(now + 3_600_000)].map((at) => at.toISOString());
  const events = await admin.get<Page<AccountEventItem>>(
    `/events?from=${from}&to=${to}&subjectType=connector-test`,
  );
  assert.deepEqual(
    events.body.results.map(({ eventName, eventSubjectName }) => [eventName, eventSubjectName]),
    ['ended', 'claimed', 'requested'].map((name) => [`connector-test-${name}`, 'Shop']),
  );
});

test('an endpoint is found by its id or name, and its answer may be an error', async () => {
  const { account, send } = await createScene();
  const agent = await createConnectorAgent(account);
  const refused = {
    ...connectorTestResult,
    status: 404,
    rows: [],
    problem: 'The API answered 404 Not Found.',
  };
  const [, answer] = await Promise.all([agent.answerTest(refused), send({ endpointId: 'Orders' })]);
  assert.deepEqual([answer.status, answer.body], [200, refused]);
});

test('what cannot work is refused before an agent is asked', async () => {
  const { account, admin, projectPath, path, body, send } = await createScene();
  await createConnectorAgent(account);
  const refuse = async (
    input: object,
    status: number,
    code: Parameters<typeof requireProblem>[2],
    detail: RegExp,
  ) => assert.match(requireProblem(await send(input), status, code).detail, detail);
  await refuse(
    { endpointId: 'order' },
    422,
    'connector-endpoint-not-found',
    /has no endpoint "order"; it has "orders"/,
  );
  await refuse(
    { connection: {} },
    422,
    'connector-connection-invalid',
    /has no "token": set it to the name of a secret reference/,
  );
  await refuse(
    { connection: { tokn: 'shop-token' } },
    422,
    'connector-connection-invalid',
    /^body\.connection: the connection has "tokn".*did you mean "token"\?/,
  );
  await refuse(
    { connection: { token: 'none' } },
    422,
    'connector-connection-invalid',
    /no secret reference "none"/,
  );
  await refuse(
    { connection: { token: 'shop-token', other: { secretName: 'gone' } } },
    422,
    'connector-connection-invalid',
    /no secret reference "gone"/,
  );
  await refuse(
    { parameters: {} },
    422,
    'connector-connection-invalid',
    /^body\.parameters: the URI parameter "shop" has no value/,
  );
  await refuse(
    { parameters: { uriParameters: { shop: 'oslo', shopp: 'bergen' } } },
    422,
    'connector-connection-invalid',
    /^body\.parameters: .* no URI parameter "shopp": it has "shop"/,
  );
  await refuse({ environmentName: 'moon' }, 422, 'unknown-environment', /moon/);
  await refuse({ agentId: 'nowhere' }, 422, 'unknown-agent', /nowhere/);
  await refuse({ projectId: '0198c2f4-5d1e-7c3a-9b42-6f0e8d7c1a23' }, 404, 'project-not-found', /0198c2f4/);
  requireProblem(await admin.post('/flex-connectors/x/test', body), 404, 'connector-profile-not-found');
  requireProblem(await admin.post(path.replace('flex', 'custom'), body), 404, 'connector-profile-not-found');
  const oauths = `${projectPath}/connector-oauths`;
  const endpoints = [{ ...buildConnectorProfile('').endpoints[0], auth: 'OAUTH', authenticationOptions: [] }];
  const crm = await admin.post<{ id: string }>('/flex-connectors', { name: 'CRM', endpoints });
  const testOauth = (oauth: string) =>
    admin.post(`/flex-connectors/${crm.body.id}/test`, { ...body, connection: { oauth } });
  const missing = requireProblem(await testOauth('crm'), 422, 'connector-connection-invalid');
  assert.match(missing.detail, /^body\.connection\.oauth: the project has no OAuth configuration "crm"/);
  await admin.post<ConnectorOauth>(oauths, {
    name: 'crm',
    grantType: 'CLIENT_CREDENTIALS',
    tokenUrl: 'https://login.example.com/token',
  });
  requireProblem(await testOauth('crm'), 422, 'connector-oauth-pending');
});

test('a profile uses references and OAuth configurations of the caller’s project, never those of another', async () => {
  const { account, admin, send, projectPath } = await createScene();
  await admin.post(`${projectPath}/connector-oauths`, {
    ...{ name: 'crm', grantType: 'CLIENT_CREDENTIALS', tokenUrl: 'https://login.example.com/token' },
  });
  const mine = await account.project();
  const contributor = await account.actor('MEMBER', { projectId: mine.projectId, role: 'CONTRIBUTOR' });
  await createConnectorAgent(account);
  for (const connection of [{ token: { secretName: 'shop-token' } }, { oauth: 'crm' }]) {
    const refused = await send({ projectId: mine.projectId, connection }, contributor);
    requireProblem(refused, 422, 'connector-connection-invalid');
  }
});

test('an agent that cannot test is named with the remedy', async () => {
  const { account, admin, projectPath, send } = await createScene();
  const unavailable = async (input: object, detail: RegExp) =>
    assert.match(requireProblem(await send(input), 409, 'connector-agent-unavailable').detail, detail);
  await unavailable({}, /the environment "dev" has no agent: give it a default agent/);
  const old = await createConnectorAgent(account, { name: 'old', abilities: ['secret-check'] });
  await unavailable({}, /the agent "old" is too old to test connectors/);
  const { agentId } = await account.agent('off');
  await unavailable({ agentId }, /the agent "off" is not connected/);
  await unavailable({}, /has no agent/);
  await admin.patch(`${projectPath}/environments/dev`, { defaultAgentId: old.agentId });
  await unavailable({}, /the agent "old" is too old/);
});

test('a failure of the agent, a result that cannot be read, and silence', async () => {
  const { account, send } = await createScene();
  const agent = await createConnectorAgent(account);
  const endNext = async (outcome: object) => {
    const work = await agent.next();
    if (work !== undefined) await agent.end(work, outcome);
  };
  for (const [outcome, detail] of [
    [{ status: 'FAILED', message: 'the vault refuses the secret' }, /the vault refuses the secret/],
    [{ status: 'SUCCESS', connectorTest: '{"rows": 7}' }, /its result cannot be read; upgrade the agent/],
    [{ status: 'SUCCESS', connectorTest: '<html>' }, /its result cannot be read/],
    [{ status: 'SUCCESS' }, /it gave no result/],
  ] as const) {
    const [, answer] = await Promise.all([endNext(outcome), send()]);
    assert.match(requireProblem(answer, 502, 'connector-test-failed').detail, detail);
  }
  const impatiently = await createScene(impatient);
  await createConnectorAgent(impatiently.account);
  requireProblem(await impatiently.send(), 504, 'connector-test-timeout');
});

test('who may publish in the environment and read profiles may test', async () => {
  const { account, projectId, send } = await createScene();
  const agent = await createConnectorAgent(account);
  const grant = { projectId, environmentName: 'dev', role: 'CONTRIBUTOR' } as const;
  const contributor = await account.actor('MEMBER', grant);
  const [, answer] = await Promise.all([agent.answerTest(connectorTestResult), send({}, contributor)]);
  assert.equal(answer.status, 200, answer.text);
  const viewer = await account.actor('MEMBER', { projectId, role: 'VIEWER' });
  requireProblem(await send({}, viewer), 403, 'forbidden');
  const operator = await account.actor('MEMBER', { ...grant, role: 'OPERATOR' });
  requireProblem(await send({}, operator), 403, 'forbidden');
  requireProblem(await send({ environmentName: 'prod' }, contributor), 403, 'forbidden');
  const billing = await account.actor('BILLING_ADMIN', grant);
  assert.match(requireProblem(await send({}, billing), 403, 'forbidden').detail, /agents:list/);
  requireProblem(await send({}, await account.actor('ADMIN')), 404, 'project-not-found');
});

test('rows with NUL and other strange texts come back', async () => {
  const { account, send } = await createScene();
  const agent = await createConnectorAgent(account);
  const result = { ...connectorTestResult, rows: [{ text: 'a\0b', __proto__x: 1 }, [1], 'text', null] };
  const [, answer] = await Promise.all([agent.answerTest(result), send()]);
  assert.deepEqual(answer.body.rows, result.rows);
});

test('old tests are removed', async () => {
  const { account, send } = await createScene();
  const agent = await createConnectorAgent(account);
  await Promise.all([agent.answerTest(connectorTestResult), send()]);
  const { read } = server.deps.database;
  assert.equal(await removeExpiredRequests(read, server.clock.now()), 0);
  assert.ok((await removeExpiredRequests(read, addSeconds(server.clock.now(), 49 * 3_600))) > 0);
});
