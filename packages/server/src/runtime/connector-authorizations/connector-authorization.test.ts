/** Authorization with PKCE: the address, the page that the browser comes back to, and the exchange by an agent. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { AccountEventItem, ConnectorOauth, Page } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { createConnectorAgent } from '../../../testing/connector-agent.ts';
import { createPlace } from '../../../testing/place.ts';
import { patientRequests, startTestServer } from '../../../testing/server.ts';
import { createConnectorOauth } from '../../workspace/connector-oauths/connector-oauth.examples.ts';
import { removeExpiredAuthorizations } from './connector-authorization.store.ts';

const server = await startTestServer(patientRequests);

interface Started {
  authorizationUrl: string;
  redirectUri: string;
  expiresAt: string;
}

async function createScene() {
  const account = await server.account();
  const place = await createPlace(account);
  const { path, oauth } = await createConnectorOauth(place);
  const { admin } = account;
  const setAgent = async () => {
    const agent = await createConnectorAgent(account);
    // Of two agents one is chosen by the configuration.
    await admin.delete(`/agents/${place.agent.agentId}`);
    return agent;
  };
  const start = async (actor = admin) => (await actor.post<Started>(`${path}/authorization`)).body;
  const read = async () => (await admin.get<ConnectorOauth>(path)).body;
  return { place, account, admin, path, oauth, setAgent, start, read };
}

const stateOf = ({ authorizationUrl }: Started) => new URL(authorizationUrl).searchParams.get('state') ?? '';

/** What a browser does. */
async function visit(query: Record<string, string>) {
  const url = `/oauth/connectors/callback?${new URLSearchParams(query)}`;
  const { statusCode, body, headers } = await server.app.inject({ url });
  assert.match(String(headers['content-type']), /^text\/html/);
  assert.match(String(headers['content-security-policy']), /default-src 'none'/);
  assert.equal(headers['cache-control'], 'no-store');
  return { status: statusCode, text: body };
}

test('an agent exchanges the code, and the configuration is authorized', async () => {
  const { setAgent, start, read, oauth, admin } = await createScene();
  const agent = await setAgent();
  const started = await start();
  const url = new URL(started.authorizationUrl);
  const { state, code_challenge: challenge, ...parameters } = Object.fromEntries(url.searchParams);
  assert.equal(url.origin + url.pathname, 'https://login.example.com/oauth2/authorize');
  assert.deepEqual(parameters, {
    response_type: 'code',
    client_id: 'headgate-oslo',
    redirect_uri: started.redirectUri,
    scope: 'contacts.read offline_access',
    code_challenge_method: 'S256',
  });
  assert.match(started.redirectUri, /\/oauth\/connectors\/callback$/);
  const visited = visit({ state: state ?? '', code: 'correct-code' });
  const work = await agent.next();
  assert.ok(work?.kind === 'connector-authorization');
  assert.deepEqual(work.payload, { connectorOauthId: oauth.connectorOauthId, name: oauth.name });
  const { body: plan } = await agent.lookUpOauth(work, oauth.name);
  const { grant, ...rest } = plan;
  assert.deepEqual(rest, {
    connectorOauthId: oauth.connectorOauthId,
    projectId: oauth.projectId,
    name: oauth.name,
    grantType: 'AUTHORIZATION_CODE',
    tokenUrl: 'https://login.example.com/oauth2/token',
    scopes: ['contacts.read', 'offline_access'],
    additionalParameters: { audience: 'https://api.example.com' },
    clientSecret: { secretName: 'crm/client' },
    tokens: { secretName: oauth.tokenSecretReference },
  });
  assert.deepEqual([grant?.code, grant?.redirectUri], ['correct-code', started.redirectUri]);
  assert.equal(
    createHash('sha256')
      .update(grant?.codeVerifier ?? '')
      .digest('base64url'),
    challenge,
  );
  await agent.reportProblem(work, oauth.connectorOauthId, 'invalid_grant');
  assert.equal((await agent.lookUpOauth(work, oauth.name)).body.problem, 'invalid_grant');
  await agent.end(work, { status: 'SUCCESS' });
  const page = await visited;
  assert.equal(page.status, 200, page.text);
  assert.match(page.text, /is authorized\. You can close this page/);
  const { state: after, authorizedAt } = await read();
  assert.deepEqual([after, typeof authorizedAt], ['AUTHORIZED', 'string']);
  const again = visit({ state: stateOf(await start()), code: 'c' });
  const second = await agent.next();
  assert.ok(second !== undefined);
  const { body: planAgain } = await agent.lookUpOauth(second, oauth.name);
  assert.deepEqual([planAgain.authorizedAt, planAgain.problem], [authorizedAt, undefined]);
  await agent.end(second, { status: 'SUCCESS' });
  assert.equal((await again).status, 200);
  const events = await listEvents(admin);
  assert.deepEqual(
    events
      .map(({ eventName }) => eventName)
      .filter((name) => name.startsWith('connector-authorization'))
      .slice(-3),
    ['ended', 'claimed', 'requested'].map((name) => `connector-authorization-${name}`),
  );
  const retained = JSON.stringify(events) + server.logLines.join();
  for (const secret of ['correct-code', state ?? '', grant?.codeVerifier ?? ''])
    assert.ok(secret.length > 0 && !retained.includes(secret), 'neither events nor the log have it');
});

async function listEvents(admin: { get<T>(path: string): Promise<{ body: T }> }) {
  const [from, to] = [-3_600_000, 3_600_000].map((by) =>
    new Date(server.clock.now().getTime() + by).toISOString(),
  );
  return (await admin.get<Page<AccountEventItem>>(`/events?from=${from}&to=${to}&size=100`)).body.results;
}

test('a state works once, for ten minutes, and only the newest of a configuration', async () => {
  const { setAgent, start } = await createScene();
  const agent = await setAgent();
  const [first, second] = [await start(), await start()];
  assert.match((await visit({ state: stateOf(first), code: 'c' })).text, /is not valid: it was used/);
  const visited = visit({ state: stateOf(second), code: 'c' });
  const work = await agent.next();
  assert.ok(work !== undefined);
  assert.equal((await visit({ state: stateOf(second), code: 'c' })).status, 400, 'a second visit');
  await agent.end(work, { status: 'SUCCESS' });
  assert.equal((await visited).status, 200);
  assert.equal((await visit({ state: stateOf(second), code: 'c' })).status, 400, 'after the end');
  for (const query of [{}, { state: '' }, { state: 'guessed', code: 'c' }, { code: 'c' }])
    assert.equal((await visit(query as Record<string, string>)).status, 400);
});

test('an expired address is void, and its row is removed', async () => {
  const { start } = await createScene();
  const late = await startTestServer({ database: server.database });
  const started = await start();
  late.clock.advance(601);
  const { statusCode } = await late.app.inject({
    url: `/oauth/connectors/callback?state=${stateOf(started)}&code=c`,
  });
  assert.equal(statusCode, 400);
  assert.ok((await removeExpiredAuthorizations(late.deps.database.read, late.clock.now())) > 0);
});

test('a refusal of the provider, and a failed exchange, are problems of the configuration', async () => {
  const { setAgent, start, read } = await createScene();
  const agent = await setAgent();
  const denied = await visit({ state: stateOf(await start()), error: 'access_denied' });
  assert.equal(denied.status, 400);
  assert.match(
    (await read()).problem ?? '',
    /did not give access \(access_denied\)\. Start the authorization again/,
  );
  const strange = await visit({ state: stateOf(await start()), error: '<script>alert(1)</script>' });
  assert.doesNotMatch(strange.text, /script|alert/);
  const failing = visit({ state: stateOf(await start()), code: 'c' });
  const work = await agent.next();
  assert.ok(work !== undefined);
  await agent.end(work, { status: 'FAILED', message: 'The token address answered <b>invalid_grant</b>.' });
  const failed = await failing;
  assert.equal(failed.status, 502);
  assert.match(failed.text, /&lt;b&gt;invalid_grant/);
  assert.deepEqual(
    [(await read()).state, (await read()).problem],
    ['PENDING', 'The token address answered <b>invalid_grant</b>.'],
  );
});

test('the page does nothing for a caller that lost the permission, or without an agent', async () => {
  const { account, place, start, read } = await createScene();
  await createConnectorAgent(account);
  const withoutAgent = await visit({ state: stateOf(await start()), code: 'c' });
  assert.match(withoutAgent.text, /several agents or none/);
  const { projectId } = place.project;
  const temporary = await account.actor('MEMBER', { projectId, role: 'CONTRIBUTOR' });
  const started = await start(temporary);
  await account.admin.delete(`/credentials/${temporary.actorId}`);
  const page = await visit({ state: stateOf(started), code: 'c' });
  assert.equal(page.status, 403, page.text);
  assert.match((await read()).problem ?? '', /no longer has permission/);
});

test('one that needs no person, and one that is not complete, cannot be authorized', async () => {
  const { place, admin } = await createScene();
  const path = `${place.project.path}/connector-oauths`;
  const make = async (input: object) =>
    (await admin.post<ConnectorOauth>(path, { tokenUrl: 'https://login.example.com/token', ...input })).body;
  const machine = await make({ name: 'machine', grantType: 'CLIENT_CREDENTIALS' });
  const refused = await admin.post(`${path}/${machine.connectorOauthId}/authorization`);
  requireProblem(refused, 422, 'connector-oauth-invalid');
  const imported = await make({
    name: 'imported',
    grantType: 'AUTHORIZATION_CODE',
    authorizationUrl: 'https://login.example.com/authorize',
  });
  const pending = await admin.post(`${path}/${imported.connectorOauthId}/authorization`);
  const { detail } = requireProblem(pending, 422, 'connector-oauth-pending');
  assert.match(detail, /no clientId and no clientSecretReference and no tokenSecretReference/);
  requireProblem(await admin.post(`${path}/x/authorization`), 404, 'connector-oauth-not-found');
});

test('codes and verifiers are stored sealed only', async () => {
  const { start } = await createScene();
  const started = await start();
  const rows = await server.database.query<{ text: string }>(
    "select encode(sealed_grant, 'escape') || encode(state_digest, 'escape') as text from connector_authorization",
  );
  assert.ok(rows.length > 0);
  for (const { text } of rows) {
    assert.ok(!text.includes('codeVerifier') && !text.includes(stateOf(started)));
  }
});

test('a configuration that is replaced is authorized again, unless only its agent or parameters change', async () => {
  const { setAgent, start, read, path, admin, oauth } = await createScene();
  const agent = await setAgent();
  const {
    connectorOauthId: _,
    projectId: __,
    createdBy: ___,
    createdAt: ____,
    state: _____,
    ...body
  } = oauth;
  const replace = async (more: object) =>
    (await admin.send<ConnectorOauth>('PUT', path, { body: { ...body, ...more } })).body;
  const begun = await start();
  await replace({ tokenUrl: 'https://login.example.org/token' });
  assert.match((await visit({ state: stateOf(begun), code: 'c' })).text, /is not valid: it was used/);
  const visited = visit({ state: stateOf(await start()), code: 'c' });
  const work = await agent.next();
  assert.ok(work !== undefined);
  assert.equal((await replace({})).state, 'PENDING');
  requireProblem(await agent.lookUpOauth(work, oauth.name), 422, 'connector-oauth-pending');
  await agent.end(work, { status: 'SUCCESS' });
  const late = await visited;
  assert.deepEqual([late.status, (await read()).state], [409, 'PENDING']);
  assert.match(late.text, /was changed meanwhile/);
  const again = visit({ state: stateOf(await start()), code: 'c' });
  const next = await agent.next();
  assert.ok(next !== undefined);
  await agent.end(next, { status: 'SUCCESS' });
  assert.equal((await again).status, 200);
  const { authorizedAt } = await read();
  const same = await replace({ agentId: agent.agentId, additionalParameters: { audience: 'x' } });
  assert.deepEqual(
    [same.state, same.authorizedAt, same.agentId],
    ['AUTHORIZED', authorizedAt, agent.agentId],
  );
  const scopes = await replace({ scopes: ['contacts.write'] });
  assert.deepEqual([scopes.state, scopes.authorizedAt], ['PENDING', undefined]);
});

test('an agent gets no place of a secret that was taken from the project', async () => {
  const { place, admin, oauth, setAgent, start } = await createScene();
  const agent = await setAgent();
  const { projectId } = place.project;
  const setNames = (names: string[]) =>
    admin.patch(`/agents/${agent.agentId}`, { vaultAccess: { projects: { [projectId]: { names } } } });
  const visited = visit({ state: stateOf(await start()), code: 'c' });
  const work = await agent.next();
  assert.ok(work !== undefined);
  for (const names of [[], ['crm/client'], [oauth.tokenSecretReference ?? '']]) {
    await setNames(names);
    requireProblem(await agent.lookUpOauth(work, oauth.name), 409, 'vault-name-not-granted-to-run');
  }
  await setNames(['crm/client', oauth.tokenSecretReference ?? '']);
  assert.equal((await agent.lookUpOauth(work, oauth.name)).status, 200);
  await agent.end(work, { status: 'SUCCESS' });
  await visited;
});
