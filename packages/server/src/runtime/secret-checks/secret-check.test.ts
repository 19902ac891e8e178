/** Checks of secrets: which agent is asked about which secret, and the response. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccountEventItem, Page, SecretCheck, SecretCoordinates } from '@headgate/contract';
import { createInstance } from '../../../testing/agent.ts';
import { type CheckingAgent, createCheckingAgent } from '../../../testing/checking-agent.ts';
import { requireProblem } from '../../../testing/client.ts';
import { patientRequests, startTestServer } from '../../../testing/server.ts';
import { statement } from '../../kernel/database/database.ts';
import { removeOldSecretChecks } from './secret-check.store.ts';

const server = await startTestServer(patientRequests);
const impatient = await startTestServer({
  database: server.database,
  settings: { HEADGATE_SECRET_WAIT_SECONDS: '1' },
});
const password = { type: 'PASSWORD', secretName: 'prod/reader' };
const there = () => ({ finding: 'RESOLVED' }) as const;
const found = ({ secretName }: SecretCoordinates) =>
  secretName.includes('gone')
    ? ({ finding: 'NOT_FOUND', message: 'the vault has no such secret or key' } as const)
    : there();

async function project(on = server) {
  const account = await on.account();
  const { admin } = account;
  const { path, projectId } = await account.project();
  const reference = (name: string, input: object = {}) =>
    admin.post(`${path}/secret-references/${name}`, { ...password, ...input });
  const check = (body: object = {}, headers: Record<string, string> = {}) =>
    admin.post<SecretCheck>(`${path}/secret-references/check`, body, { headers });
  const setAgent = (environment: string, agent: Pick<CheckingAgent, 'agentId'>) =>
    admin.patch(`${path}/environments/${environment}`, { defaultAgentId: agent.agentId });
  return { account, admin, path, projectId, reference, check, setAgent };
}
const summarize = ({ results }: SecretCheck) =>
  results.map(({ secretReferenceName, secretName, environmentNames, agentName, outcome }) => [
    ...[secretReferenceName ?? `- ${secretName}`, environmentNames.join(' '), agentName ?? '-', outcome],
  ]);

test('each reference is checked by the agent of each environment, or by its own agent; a dangling one is found', async () => {
  const { account, reference, check, setAgent } = await project();
  const [oslo, lima] = [
    await createCheckingAgent(account, { name: 'oslo' }),
    await createCheckingAgent(account, { name: 'lima' }),
  ];
  await setAgent('dev', oslo);
  await setAgent('prod', oslo);
  await reference('b-gone', { secretName: 'gone', secretKey: 'k', vaultType: 'GCP_SECRET_MANAGER' });
  await reference('a-there');
  await reference('c-of-lima', { agentId: lima.agentId });
  const answers = Promise.all([oslo.answerNext(found), lima.answerNext(found)]);
  const { status, body } = await check();
  await answers;
  assert.equal(status, 200);
  assert.deepEqual(summarize(body), [
    ['a-there', 'dev prod', 'oslo', 'RESOLVED'],
    ['b-gone', 'dev prod', 'oslo', 'NOT_FOUND'],
    ['c-of-lima', '', 'lima', 'RESOLVED'],
  ]);
  assert.deepEqual([body.resolved, body.unchecked], [false, 0]);
  assert.deepEqual(body.results[1], {
    ...{ secretReferenceName: 'b-gone', secretName: 'gone', secretKey: 'k', provider: 'GCP', namedBy: [] },
    ...{ environmentNames: ['dev', 'prod'], agentId: oslo.agentId, agentName: 'oslo' },
    ...{ outcome: 'NOT_FOUND', message: 'the vault has no such secret or key' },
  });
});

test('a check can be limited to named references, one environment or one agent', async () => {
  const { account, reference, check, setAgent } = await project();
  const [oslo, lima] = [
    await createCheckingAgent(account, { name: 'oslo' }),
    await createCheckingAgent(account, { name: 'lima' }),
  ];
  await setAgent('dev', oslo);
  await setAgent('prod', lima);
  for (const name of ['a', 'b', 'c']) await reference(name);
  const ask = async (agent: CheckingAgent, body: object) => {
    const answers = agent.answerNext(there);
    const checked = await check(body);
    await answers;
    return summarize(checked.body);
  };
  const names = { secretReferenceNames: ['b'] };
  assert.deepEqual(await ask(lima, { ...names, environmentName: 'prod' }), [
    ['b', 'prod', 'lima', 'RESOLVED'],
  ]);
  assert.deepEqual(await ask(lima, { ...names, agentId: lima.agentId }), [['b', '', 'lima', 'RESOLVED']]);
  requireProblem(await check({ secretReferenceNames: ['b', 'd'] }), 404, 'secret-reference-not-found');
  requireProblem(await check({ environmentName: 'nowhere' }), 422, 'unknown-environment');
  requireProblem(await check({ agentId: 'nobody' }), 422, 'unknown-agent');
  const foreign = await (await server.account()).agent();
  requireProblem(await check({ agentId: foreign.agentId }), 422, 'unknown-agent');
});

test('secrets of connections and their overrides are checked in their environments', async () => {
  const { account, admin, path, reference, check, setAgent } = await project();
  const oslo = await createCheckingAgent(account, { name: 'oslo' });
  await setAgent('dev', oslo);
  await setAgent('prod', oslo);
  const basic = {
    platformConnectionType: 'COMPONENT_BASIC',
    authProvider: 'NONE',
    authType: 'GENERIC_SECRET',
  };
  const secretsLocation = { type: 'AWS_SECRET_MANAGER', region: 'eu-north-1' };
  const details = { connectionProperties: { secretName: 'reader' }, secretsLocation };
  await admin.post(`${path}/connections`, { name: 'lake', ...basic, connectionDetails: details });
  await admin.post(`${path}/connections/environment-overrides`, {
    environmentName: 'dev',
    connectionName: 'lake',
    authType: basic.authType,
    connectionOverrides: { connectionProperties: { secretName: 'gone', secretKey: 'k' } },
  });
  await reference('reader');
  const answers = oslo.answerNext(found);
  const { body } = await check();
  await answers;
  assert.deepEqual(summarize(body), [
    ['reader', 'dev prod', 'oslo', 'RESOLVED'],
    ['- gone', 'dev', 'oslo', 'NOT_FOUND'],
  ]);
  assert.deepEqual(body.results[0]?.namedBy, ['the connection "lake"']);
  const { provider, secretKey, namedBy } = body.results[1] ?? assert.fail();
  assert.deepEqual([provider, secretKey], ['AWS', 'k']);
  assert.deepEqual(namedBy, ['the override of the connection "lake" in the environment "dev"']);
});

test('agents that cannot be asked are reported; if no agent can be asked, the request does not wait', async () => {
  const { account, admin, projectId, reference, check } = await project();
  const agents = {
    silent: await account.agent('silent'),
    old: await createCheckingAgent(account, { name: 'old', abilities: ['pipeline-execution'] }),
    paused: await createCheckingAgent(account, { name: 'paused' }),
    restricted: await createCheckingAgent(account, { name: 'restricted' }),
    ready: await createCheckingAgent(account, { name: 'ready' }),
  };
  await admin.post(`/agents/${agents.paused.agentId}/commands`, { command: 'PAUSE' });
  await admin.patch(`/agents/${agents.restricted.agentId}`, { restrictedAccess: true });
  for (const [name, { agentId }] of Object.entries(agents)) await reference(name, { agentId });
  const answers = agents.ready.answerNext(there);
  assert.deepEqual(summarize((await check()).body), [
    ['old', '', 'old', 'AGENT_TOO_OLD'],
    ['paused', '', 'paused', 'AGENT_NOT_CONNECTED'],
    ['ready', '', 'ready', 'RESOLVED'],
    ['restricted', '', 'restricted', 'AGENT_NOT_ALLOWED'],
    ['silent', '', 'silent', 'AGENT_NOT_CONNECTED'],
  ]);
  await answers;
  const refused = await check({ secretReferenceNames: ['old', 'silent'] });
  requireProblem(refused, 409, 'no-agent-to-ask');
  assert.match(
    refused.problem.detail,
    /"old" is too old for this check: upgrade it; the agent "silent" is not connected/,
  );
  const allowlist = { projects: { [projectId]: { environments: ['dev'] } } };
  await admin.send('PUT', `/agents/${agents.restricted.agentId}/allowlist`, { body: allowlist });
  const allowed = agents.restricted.answerNext(there);
  assert.deepEqual(summarize((await check({ secretReferenceNames: ['restricted'] })).body), [
    ['restricted', '', 'restricted', 'RESOLVED'],
  ]);
  await allowed;
});

test('an environment without an agent is reported; a project without secrets needs no agent', async () => {
  const { reference, check } = await project();
  assert.deepEqual((await check()).body, { resolved: true, results: [], unchecked: 0 });
  await reference('a');
  const refused = await check();
  requireProblem(refused, 409, 'no-agent-to-ask');
  assert.match(refused.problem.detail, /give one a default agent/);
});

test('a failing agent is reported with its reason, and a late one as NO_ANSWER', async () => {
  const { account, reference, check } = await project(impatient);
  const oslo = await createCheckingAgent(account, { name: 'oslo' });
  const lima = await createCheckingAgent(account, { name: 'lima' });
  await reference('a', { agentId: oslo.agentId });
  await reference('b', { agentId: lima.agentId });
  const again = () => check({}, { 'idempotency-key': 'once' });
  requireProblem(await again(), 504, 'secret-check-timeout');
  const work = (await oslo.next()) ?? assert.fail();
  await oslo.end(work, { status: 'FAILED', message: 'so' });
  impatient.clock.advance(2);
  assert.deepEqual(
    (await again()).body.results.map(({ outcome, message }) => [outcome, message]),
    [
      ['NO_ANSWER', 'so'],
      ['NO_ANSWER', 'the agent did not answer in time'],
    ],
  );
});

test('without a response in time the status is 504; the same key returns the result later', async () => {
  const { account, reference, check } = await project(impatient);
  const oslo = await createCheckingAgent(account, { name: 'oslo' });
  await reference('a', { agentId: oslo.agentId });
  const again = () => check({}, { 'idempotency-key': 'once' });
  const late = await again();
  requireProblem(late, 504, 'secret-check-timeout');
  assert.match(late.problem.detail, /"oslo"/);
  const work = await oslo.next();
  assert.ok(work);
  await oslo.end(work, { status: 'SUCCESS', checkedSecrets: [{ finding: 'DENIED', message: 'no' }] });
  impatient.clock.advance(2);
  const first = await again();
  assert.deepEqual(summarize(first.body), [['a', '', 'oslo', 'DENIED']]);
  assert.deepEqual((await again()).body, first.body);
  assert.equal((await again()).headers['idempotency-replayed'], 'true');
});

test('a check that no agent claims in time is dropped', async () => {
  const { account, reference, check } = await project(impatient);
  const oslo = await createCheckingAgent(account, { name: 'oslo' });
  await reference('a', { agentId: oslo.agentId });
  requireProblem(await check(), 504, 'secret-check-timeout');
  impatient.clock.advance(2);
  await impatient.sweep();
  assert.equal(await oslo.next(0), undefined);
});

test('the project’s events have the check, its agents and the result', async () => {
  const { account, admin, projectId, reference, check } = await project();
  const oslo = await createCheckingAgent(account, { name: 'oslo' });
  await reference('a', { agentId: oslo.agentId });
  const answers = oslo.answerNext(there);
  await check({ secretReferenceNames: ['a'] });
  await answers;
  const range = 'from=2020-01-01T00:00:00.000Z&to=2100-01-01T00:00:00.000Z';
  const { results } = (
    await admin.get<Page<AccountEventItem>>(`/events?${range}&projectId=${projectId}&size=100`)
  ).body;
  const written = results.filter((event) => event.eventName.startsWith('secret-check-'));
  assert.deepEqual(written.map((event) => [event.eventName, event.additionalInfo.after]).toReversed(), [
    ['secret-check-requested', { secrets: 1, agentIds: [oslo.agentId], secretReferenceNames: ['a'] }],
    ['secret-check-claimed', undefined],
    ['secret-check-ended', { state: 'ANSWERED' }],
  ]);
});

test('old checks are removed', async () => {
  const { account, reference, check } = await project();
  const oslo = await createCheckingAgent(account, { name: 'oslo' });
  await reference('a', { agentId: oslo.agentId });
  const answers = oslo.answerNext(there);
  await check();
  await answers;
  const now = server.clock.now().getTime();
  const { read } = server.deps.database;
  const rows = async () => (await read(all, { account_id: account.accountId }))[0]?.count;
  const all = statement(
    { parameters: { account_id: 'uuid' }, row: { count: 'integer' } },
    'select count(*)::integer as count from secret_check where account_id = $account_id',
  );
  await removeOldSecretChecks(read, new Date(now + 47 * 3_600_000));
  assert.equal(await rows(), 1);
  await removeOldSecretChecks(read, new Date(now + 49 * 3_600_000));
  assert.equal(await rows(), 0);
});

test('a reference cannot be named check; the error says so', async () => {
  const { admin, path, reference } = await project();
  const refused = await reference('check');
  requireProblem(refused, 422, 'secret-reference-name-reserved');
  assert.match(refused.problem.detail, /"check"/);
  requireProblem(await admin.delete(`${path}/secret-references/check`), 404, 'secret-reference-not-found');
});

test('an instance that does not support checks does not get one', async () => {
  const { account, reference, check } = await project();
  const oslo = await createCheckingAgent(account, { name: 'oslo' });
  const older = createInstance(oslo);
  await older.hello({ abilities: ['pipeline-execution', 'secret-write'] });
  await reference('a', { agentId: oslo.agentId });
  const checked = check();
  const queued = async () =>
    (await server.database.query('select from work where agent_id = $1', [oslo.agentId])).length > 0;
  while (!(await queued()));
  assert.deepEqual((await older.claim()).work, []);
  await oslo.answerNext(there);
  assert.equal((await checked).body.resolved, true);
});

test('a secret that the project may not use is not asked for', async () => {
  const { account, admin, projectId, reference, check, setAgent } = await project();
  const oslo = await createCheckingAgent(account, { name: 'oslo' });
  await setAgent('dev', oslo);
  await setAgent('prod', oslo);
  await reference('foreign');
  await reference('own', { secretName: `${projectId}/own` });
  const vaultAccess = { projects: { [projectId]: {} } };
  assert.equal((await admin.patch(`/agents/${oslo.agentId}`, { vaultAccess })).status, 202);
  const answers = oslo.answerNext(there);
  const { body } = await check();
  await answers;
  assert.deepEqual(summarize(body), [
    ['foreign', 'dev prod', 'oslo', 'NOT_GRANTED'],
    ['own', 'dev prod', 'oslo', 'RESOLVED'],
  ]);
  assert.match(body.results[0]?.message ?? '', /"prod\/reader".*"oslo".*vaultAccess/);
});
