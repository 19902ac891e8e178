/** Every operation whose body names a secret of a vault is judged by what the project may use. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { Agent } from '@headgate/contract';
import type { Actor } from '../../../testing/account.ts';
import type { Answer } from '../../../testing/client.ts';
import { requireProblem } from '../../../testing/client.ts';
import { shown } from '../../../testing/permission-walk.ts';
import { createPlace, type Place } from '../../../testing/place.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

/** The members of a body, wherever they are, whose name says that they name a secret. */
function findMembers(schema: unknown, at: string, found: string[]): string[] {
  if (Array.isArray(schema)) for (const each of schema) findMembers(each, at, found);
  else if (typeof schema === 'object' && schema !== null) {
    for (const [name, value] of Object.entries(schema)) {
      if (name !== 'properties') findMembers(value, at, found);
      else
        for (const [member, inner] of Object.entries(value as object)) {
          if (/secret_?name$/i.test(member)) found.push(`${at}.${member}`);
          findMembers(inner, `${at}.${member}`, found);
        }
    }
  }
  return found;
}

const basic = { platformConnectionType: 'COMPONENT_BASIC', authProvider: 'NONE', authType: 'GENERIC_SECRET' };
const warehouse = { platformConnectionType: 'DWH', authProvider: 'POSTGRES', authType: 'PASSWORD' };
const cloud = {
  platformConnectionType: 'CLOUD_PLATFORM_CREDENTIALS',
  authProvider: 'aws',
  authType: 'CLOUD_PROVIDER_SECRET',
};
const streaming = (secretName: string) => ({
  name: `orders ${randomUUID()}`,
  streamingSource: {
    type: 'postgres',
    connection: {
      ...{ host: 'db.example.com', port: 5432, database: 'd', username: 'u' },
      password: { secretType: 'headgate_vault', secretName },
    },
    tables: [{ schema: 'public', table: 'orders' }],
  },
  streamingTarget: { type: 's3', bucket: 'b', prefix: 'p', decimalMapping: 'logical' },
});

type Send = (by: Actor, place: Place, secretName: string) => Promise<Answer>;

const streamingAgents = new Map<Place, string>();
async function findStreamingAgent(place: Place): Promise<string> {
  const made =
    streamingAgents.get(place) ?? (await place.account.agent(undefined, { agentType: 'streaming' })).agentId;
  streamingAgents.set(place, made);
  return made;
}

/** One or more requests for each operation, each with the secret in another member. */
const requests: Record<string, readonly Send[]> = {
  createSecretReference: [
    (by, { project, named }, secretName) =>
      by.post(`${project.path}/secret-references/${named('r')}`, { type: 'PASSWORD', secretName }),
    (by, { project, named, agent }, secretName) =>
      by.post(`${project.path}/secret-references/${named('r')}`, {
        ...{ type: 'PASSWORD', secretName, agentId: agent.agentId },
      }),
  ],
  createConnection: [
    (by, { project, named }, secretName) =>
      by.post(`${project.path}/connections`, {
        ...{ name: named('c'), ...basic, connectionDetails: { connectionProperties: { secretName } } },
      }),
    (by, { project, named }, credentialSecretName) =>
      by.post(`${project.path}/connections`, {
        ...{
          name: named('c'),
          ...cloud,
          connectionDetails: { connectionProperties: { credentialSecretName } },
        },
      }),
  ],
  updateConnection: [
    async (by, { account, project, named }, secretName) => {
      const name = named('c');
      await account.admin.post(`${project.path}/connections`, { name, ...basic });
      const body = { ...basic, connectionDetails: { connectionProperties: { secretName } } };
      return by.send('PUT', `${project.path}/connections?connectionName=${name}`, { body });
    },
  ],
  writeConnectionOverride: [
    async (by, { account, project, named }, secretName) => {
      const connectionName = named('c');
      await account.admin.post(`${project.path}/connections`, { name: connectionName, ...basic });
      return by.post(`${project.path}/connections/environment-overrides`, {
        ...{ environmentName: 'dev', connectionName, authType: basic.authType },
        connectionOverrides: { connectionProperties: { secretName } },
      });
    },
  ],
  createDataPlatformConnection: [
    (by, { project, named }, secretName) =>
      by.post(`${project.path}/data-platform-connections`, {
        ...{ name: named('w'), ...warehouse, connectionProperties: { password: { secretName } } },
      }),
  ],
  updateDataPlatformConnection: [
    async (by, { account, project, named }, secretName) => {
      const path = `${project.path}/data-platform-connections`;
      const name = named('w');
      await account.admin.post(path, { name, ...warehouse });
      const connectionProperties = { password: { secretName } };
      return by.send('PUT', `${path}/${name}`, { body: { ...warehouse, connectionProperties } });
    },
  ],
  createEnvironment: [
    async (by, place, secretName) => {
      const { project, named } = place;
      const connectionOverrides = [await createOverride(place, secretName)];
      return by.post(`${project.path}/environments`, { name: named('e'), connectionOverrides });
    },
  ],
  updateEnvironment: [
    async (by, place, secretName) =>
      by.patch(`${place.project.path}/environments/dev`, {
        connectionOverrides: [await createOverride(place, secretName)],
      }),
  ],
  createStreamingPipeline: [
    (by, { project }, secretName) => by.post(`${project.path}/streaming-pipelines`, streaming(secretName)),
    async (by, place, secretName) => {
      const { project } = place;
      const agentId = await findStreamingAgent(place);
      return by.post(`${project.path}/streaming-pipelines`, { ...streaming(secretName), agentId });
    },
  ],
  updateStreamingPipeline: [
    async (by, { account, project }, secretName) => {
      const body = streaming(`${project.projectId}/db`);
      const path = `${project.path}/streaming-pipelines`;
      const made = await account.admin.post<{ streamingPipelineId: string }>(path, body);
      return by.send('PUT', `${path}/${made.body.streamingPipelineId}`, { body: streaming(secretName) });
    },
  ],
};

/** `secretName` is the name of a secret reference there, and nothing else. */
const namesReferencesOnly = ['testFlexConnector', 'testCustomConnector', 'checkSecretReferences'];

async function createOverride({ account, project, named }: Place, secretName: string) {
  const connectionName = named('c');
  await account.admin.post(`${project.path}/connections`, { name: connectionName, ...basic });
  return { connectionName, connectionProperties: { password: { secretName } } };
}

test('this test has a request for every operation whose body names a secret', () => {
  const naming = shown.filter(({ body }) => findMembers(body, 'body', []).length > 0).map(({ id }) => id);
  assert.deepEqual(naming.toSorted(), [...Object.keys(requests), ...namesReferencesOnly].toSorted());
});

for (const [operation, sends] of Object.entries(requests)) {
  test(`${operation}: a name of another project is refused, the project’s own passes, and a manager of agents grants it`, async () => {
    for (const [number, send] of sends.entries()) {
      const place = await createPlace(await server.account());
      const { account, project } = place;
      const grant = { projectId: project.projectId, role: 'OWNER' } as const;
      const [member, manager] = [await account.actor('MEMBER', grant), await account.actor('ADMIN', grant)];
      const foreign = `b/oauth-${number}`;
      const refused = await send(member, place, foreign);
      requireProblem(refused, 403, 'vault-name-not-granted');
      assert.match(refused.problem.detail, new RegExp(`"${foreign}".*"${project.projectId}/".*vaultAccess`));
      for (const own of [`${project.projectId}/own`, `${project.projectId}-own`])
        assert.ok((await send(member, place, own)).status < 300, operation);
      const admitted = await send(manager, place, foreign);
      assert.ok(admitted.status < 300, admitted.text);
      const events = await listGrants(account.admin);
      assert.deepEqual(events[0]?.additionalInfo.after.names, [foreign]);
      assert.ok((await send(member, place, foreign)).status < 300, 'it is granted now');
      assert.equal((await listGrants(account.admin)).length, events.length);
      await requireStillForeign(place, foreign);
    }
  });
}

interface GrantEvent {
  additionalInfo: { after: { names: string[]; agentId?: string } };
}

async function listGrants(admin: Actor): Promise<GrantEvent[]> {
  const { body } = await admin.get<{ results: GrantEvent[] }>(
    '/events?from=2000-01-01T00:00:00Z&to=2100-01-01T00:00:00Z&eventName=vault-names-granted&size=100',
  );
  return body.results;
}

async function requireStillForeign({ account }: Place, secretName: string) {
  const { projectId, path } = await account.project();
  const member = await account.actor('MEMBER', { projectId, role: 'CONTRIBUTOR' });
  const body = { type: 'PASSWORD', secretName };
  requireProblem(await member.post(`${path}/secret-references/r`, body), 403, 'vault-name-not-granted');
}

test('below a prefix, no name leads out of it', async () => {
  const place = await createPlace(await server.account());
  const { account, project, agent } = place;
  const { projectId } = project;
  const vaultAccess = { projects: { [projectId]: { prefixes: ['shared/'] } } };
  assert.equal((await account.admin.patch(`/agents/${agent.agentId}`, { vaultAccess })).status, 202);
  const member = await account.actor('MEMBER', { projectId, role: 'CONTRIBUTOR' });
  const create = (secretName: string) =>
    member.post(`${project.path}/secret-references/${place.named('r')}`, { type: 'PASSWORD', secretName });
  for (const name of ['shared/a', 'shared/a/b.c', `${projectId}/a`, `${projectId}-a`])
    assert.equal((await create(name)).status, 201, name);
  for (const base of ['shared/', `${projectId}/`])
    for (const rest of [
      '../b',
      'a/../../b',
      './a',
      'a//b',
      'a/',
      '%2e%2e/b',
      'a\\..\\b',
      'a?b',
      'a#b',
      'a b',
    ])
      requireProblem(await create(base + rest), 403, 'vault-name-not-granted');
  for (const name of ['share/a', 'Shared/a', projectId, `x${projectId}/a`, `${projectId.toUpperCase()}/a`])
    requireProblem(await create(name), 403, 'vault-name-not-granted');
});

test('vaultAccess is shown to managers of agents only, and is replaced for each project', async () => {
  const place = await createPlace(await server.account());
  const { account, project, agent } = place;
  const { projectId } = project;
  const other = await account.project();
  const admin = await account.actor('ADMIN');
  const path = `/agents/${agent.agentId}`;
  const read = async (by = admin) => (await by.get<Agent>(path)).body.vaultAccess;
  assert.deepEqual(await read(), { projects: {} });
  assert.equal(await read(await account.actor('MEMBER')), undefined);
  const write = (projects: object) => admin.patch<Agent>(path, { vaultAccess: { projects } });
  const entry = { prefixes: ['shared/'], names: ['a', 'b'] };
  const written = await write({ [projectId]: entry, [other.projectId]: { names: ['c'] } });
  assert.equal(written.status, 202, written.text);
  const ofOther = { [other.projectId]: { prefixes: [], names: ['c'] } };
  assert.deepEqual(written.body.vaultAccess, { projects: { [projectId]: entry, ...ofOther } });
  await write({ [projectId]: {} });
  assert.deepEqual(await read(), { projects: ofOther });
  requireProblem(await write({ nothing: {} }), 422, 'unknown-project');
  const foreign = await (await server.account()).project();
  requireProblem(await write({ [foreign.projectId]: { names: ['c'] } }), 422, 'unknown-project');
  const member = await account.actor('MEMBER', { projectId, role: 'OWNER' });
  requireProblem(await member.patch(path, { vaultAccess: { projects: {} } }), 403, 'forbidden');
});

test('a name granted without an agent can be taken from one agent; the others keep it', async () => {
  const place = await createPlace(await server.account());
  const { account, project, agent } = place;
  const { projectId } = project;
  const second = await account.agent();
  await account.admin.post(`${project.path}/secret-references/r`, { type: 'PASSWORD', secretName: 'key' });
  const names = async (agentId: string) => {
    const { body } = await account.admin.get<Agent>(`/agents/${agentId}`);
    return body.vaultAccess?.projects[projectId]?.names ?? [];
  };
  const before = (await account.admin.get(`/agents/${agent.agentId}`)).headers.etag;
  assert.deepEqual(await names(second.agentId), ['key']);
  await account.admin.patch(`/agents/${agent.agentId}`, {
    vaultAccess: { projects: { [projectId]: {} } },
  });
  assert.deepEqual(await names(agent.agentId), []);
  assert.deepEqual(await names(second.agentId), ['key']);
  assert.notEqual((await account.admin.get(`/agents/${agent.agentId}`)).headers.etag, before);
});

test('a project has at most 1,000 granted names', async () => {
  const place = await createPlace(await server.account());
  const { account, project, agent } = place;
  const names = Array.from({ length: 1_000 }, (_, index) => `n${index}`);
  await account.admin.patch(`/agents/${agent.agentId}`, {
    vaultAccess: { projects: { [project.projectId]: { names } } },
  });
  const body = { type: 'PASSWORD', secretName: 'more' };
  requireProblem(
    await account.admin.post(`${project.path}/secret-references/r`, body),
    409,
    'too-many-vault-names',
  );
});
