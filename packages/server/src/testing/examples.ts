/**
 * A request that succeeds for each operation of the management interface: what the tests that walk all
 * operations send, and what the reference shows (main/reference/published-examples.test.ts records them with
 * their answers).
 */
import { randomUUID } from 'node:crypto';
import type { Operation } from '@headgate/contract';
import type { Account, RegisteredAgent } from './account.ts';
import { checkingAgent } from './checking-agent.ts';
import type { Asked } from './client.ts';
import { claimOne, endedExecutionOf, executionOf, instanceId } from './executions.ts';
import {
  multipart,
  multipartBoundary,
  type Part,
  sharedPipeline,
  smallPipeline,
  type TestProject,
  upload,
} from './project.ts';
import { makeKeys, requestFor, sealingAgent } from './sealing-agent.ts';

/**
 * A project in which every operation has something to work on: in dev a version and an override, and an
 * agent.
 */
export interface Place {
  account: Account;
  agent: RegisteredAgent;
  project: TestProject;
  now: Date;
  /** The name of something that an example makes: never used before, so that an example can be sent again. */
  named(base: string): string;
}

/**
 * What is to be seen in the reference: names as one would choose them. Such a place is for one example only.
 */
const published = { agent: 'oslo-1', project: 'Weather', named: (base: string) => base };

export async function createPlace(
  account: Account,
  given: { published?: boolean; now?: Date } = {},
): Promise<Place> {
  const names = given.published ? published : undefined;
  const place: Place = {
    account,
    agent: await account.agent(names?.agent),
    project: await account.project(names?.project),
    now: given.now ?? new Date(),
    named: names?.named ?? ((base) => `${base}_${randomUUID().replaceAll('-', '')}`),
  };
  await upload(account.admin, place.project, [mainPipeline]);
  await account.admin.post(`${place.project.path}/variables`, city);
  await account.admin.post(`${place.project.path}/variables/city/environment-overrides`, override);
  return place;
}

export interface Example extends Asked {
  path: string;
  /** The parts of a body that is a form. */
  parts?: readonly Part[];
}

type Examples = Record<string, (place: Place) => Promise<Example> | Example>;

const mainPipeline = { name: 'main.orch.yaml', content: smallPipeline };
const city = { name: 'city', type: 'TEXT', behaviour: 'SHARED', value: 'Oslo' };
const override = { environmentName: 'dev', value: 'Bergen' };

const connectionOf = ({ named }: Place) => ({
  name: named('orders-api'),
  platformConnectionType: 'COMPONENT_BASIC',
  authProvider: 'NONE',
  authType: 'GENERIC_SECRET',
  connectionDetails: {
    description: 'The key of the orders API',
    connectionProperties: { secretName: 'orders-api-key' },
    secretsLocation: { type: 'AWS_SECRET_MANAGER', region: 'eu-north-1' },
  },
});

async function createConnection(place: Place) {
  const body = connectionOf(place);
  await place.account.admin.post(`${place.project.path}/connections`, body);
  return body;
}

async function connectionOverride(place: Place) {
  const { name, authType } = await createConnection(place);
  const connectionOverrides = { connectionProperties: { secretName: 'orders-api-key-of-dev' } };
  return { environmentName: 'dev', connectionName: name, authType, connectionOverrides };
}

async function createConnectionOverride(place: Place) {
  const body = await connectionOverride(place);
  await place.account.admin.post(`${place.project.path}/connections/environment-overrides`, body);
  return body;
}

const dataPlatformConnectionOf = ({ named }: Place) => ({
  name: named('analytics'),
  platformConnectionType: 'DWH',
  authProvider: 'POSTGRES',
  authType: 'PASSWORD',
  connectionProperties: {
    host: { value: 'warehouse.example.com' },
    database: { value: 'analytics' },
    username: { value: 'loader' },
    password: { secretName: 'warehouse-loader', secretKey: 'password' },
  },
});

async function createDataPlatformConnection(place: Place) {
  const { name, ...body } = dataPlatformConnectionOf(place);
  const path = `${place.project.path}/data-platform-connections`;
  await place.account.admin.post(path, { name, ...body });
  return { path: `${path}/${name}`, body };
}

const credentialOf = ({ named, project }: Place) => ({
  name: named('nightly deployment'),
  role: 'MEMBER',
  roles: [{ projectId: project.projectId, environmentName: 'prod', role: 'CONTRIBUTOR' }],
});

async function createCredential(place: Place): Promise<string> {
  const made = await place.account.admin.post<{ credentialId: string }>('/credentials', credentialOf(place));
  return made.body.credentialId;
}

const takers = ['deleteEnvironment', 'deleteProject'];

/** Whether an operation's example takes the place itself away. */
export function takesPlaceAway({ id }: Operation): boolean {
  return takers.includes(id);
}

/** Those that take the place away come last. */
export function inOrder(operations: readonly Operation[]): Operation[] {
  return operations.toSorted((one, other) => takers.indexOf(one.id) - takers.indexOf(other.id));
}

const ofSecrets: Examples = {
  getAgentCertificate: async ({ account }) => ({
    path: `/agents/${(await sealingAgent(account)).agentId}/certificate`,
  }),
  writeSecretValue: async ({ account, named }) => {
    const agent = await sealingAgent(account);
    // Answered by the agent, while the request waits; not at all where the request is refused.
    void agent.confirmNext().catch(() => undefined);
    const secret = {
      name: named('orders-api'),
      type: 'PASSWORD',
      value: { password: secretOfExample },
    };
    return { path: `/secrets/${agent.agentId}/secret-value?provider=AWS`, body: { secret } };
  },
};

/** What the tests of leaks look for after the example was sent. */
export const secretOfExample = 'correct "horse"/battery+ staple é';

const ofProjects: Examples = {
  listProjects: () => ({ path: '/projects' }),
  createProject: ({ named }) => ({
    path: '/projects',
    body: {
      name: named('Flights'),
      description: 'Delays by airport',
      warehouse: 'DUCKDB',
      agentDeploymentType: 'HYBRID',
    },
  }),
  getProject: ({ project }) => ({ path: project.path }),
  updateProject: ({ project }) => ({ path: project.path, body: { description: 'Wet days a month' } }),
  deleteProject: ({ project }) => ({ path: project.path }),
  listEnvironments: ({ project }) => ({ path: `${project.path}/environments` }),
  createEnvironment: ({ project, agent, named }) => ({
    path: `${project.path}/environments`,
    body: { name: named('staging'), displayName: 'Staging', defaultAgentId: agent.agentId },
  }),
  getEnvironment: ({ project }) => ({ path: `${project.path}/environments/dev` }),
  updateEnvironment: ({ project }) => ({
    path: `${project.path}/environments/dev`,
    body: { description: 'For trying things out' },
  }),
  deleteEnvironment: ({ project }) => ({ path: `${project.path}/environments/dev` }),
};

const ofVariables: Examples = {
  listVariables: ({ project }) => ({ path: `${project.path}/variables?page=0&size=10` }),
  createVariable: ({ project, named }) => ({
    path: `${project.path}/variables`,
    body: { name: named('wetDayMillimetres'), type: 'NUMBER', behaviour: 'SHARED', value: 1 },
  }),
  getVariable: ({ project }) => ({ path: `${project.path}/variables/city` }),
  updateVariable: ({ project }) => ({
    path: `${project.path}/variables/city`,
    body: { type: 'TEXT', behaviour: 'SHARED', value: 'Trondheim', description: 'Where it rains' },
  }),
  async deleteVariable({ account, project, named }) {
    const name = named('country');
    await account.admin.post(`${project.path}/variables`, { ...city, name });
    return { path: `${project.path}/variables/${name}` };
  },
  getOverrides: ({ project }) => ({ path: `${project.path}/variables/city/environment-overrides` }),
  writeOverrides: ({ project }) => ({
    path: `${project.path}/variables/city/environment-overrides`,
    body: { environmentOverrides: [override] },
  }),
  async deleteOverride({ account, project }) {
    const path = `${project.path}/variables/city/environment-overrides`;
    await account.admin.post(path, override);
    return { path: `${path}/dev` };
  },
};

const ofConnections: Examples = {
  async listConnections(place) {
    await createConnection(place);
    return { path: `${place.project.path}/connections?authProvider=NONE` };
  },
  createConnection: (place) => ({ path: `${place.project.path}/connections`, body: connectionOf(place) }),
  async updateConnection(place) {
    const { name, authProvider: _, ...body } = await createConnection(place);
    return { path: `${place.project.path}/connections?connectionName=${name}`, body };
  },
  async deleteConnection(place) {
    const { name } = await createConnection(place);
    return { path: `${place.project.path}/connections?connectionName=${name}` };
  },
  async listConnectionOverrides(place) {
    await createConnectionOverride(place);
    return { path: `${place.project.path}/connections/environment-overrides?environmentName=dev` };
  },
  async writeConnectionOverride(place) {
    const body = await connectionOverride(place);
    return { path: `${place.project.path}/connections/environment-overrides`, body };
  },
  async deleteConnectionOverrides(place) {
    const { connectionName } = await createConnectionOverride(place);
    const path = `${place.project.path}/connections/environment-overrides`;
    return { path: `${path}?environmentName=dev&connectionNames=${connectionName}` };
  },
  async listDataPlatformConnections(place) {
    await createDataPlatformConnection(place);
    return { path: `${place.project.path}/data-platform-connections` };
  },
  createDataPlatformConnection: (place) => ({
    path: `${place.project.path}/data-platform-connections`,
    body: dataPlatformConnectionOf(place),
  }),
  async getDataPlatformConnection(place) {
    const { path } = await createDataPlatformConnection(place);
    return { path };
  },
  async updateDataPlatformConnection(place) {
    const { path, body } = await createDataPlatformConnection(place);
    const connectionProperties = { ...body.connectionProperties, schema: { value: 'public' } };
    return { path, body: { ...body, connectionProperties } };
  },
  async deleteDataPlatformConnection(place) {
    const { path } = await createDataPlatformConnection(place);
    return { path };
  },
};

const secretReference = {
  secretReferenceType: 'OAUTH_CLIENT_CRED',
  secretName: 'prod/weather-api',
  vaultType: 'AWS_SECRET_MANAGER',
  provider: 'AWS',
  description: 'The client of the weather API',
};

async function createSecretReference({ account, project, named }: Place): Promise<string> {
  const path = `${project.path}/secret-references/${named('weather-api')}`;
  await account.admin.post(path, secretReference);
  return path;
}

const ofSecretReferences: Examples = {
  async listSecretReferences(place) {
    await createSecretReference(place);
    const filters = 'secretReferenceType=OAUTH_CLIENT_CRED&provider=AWS';
    return { path: `${place.project.path}/secret-references?${filters}` };
  },
  createSecretReference: ({ project, agent, named }) => ({
    path: `${project.path}/secret-references/${named('weather-api')}`,
    body: { ...secretReference, agentId: agent.agentId },
  }),
  deleteSecretReference: async (place) => ({ path: await createSecretReference(place) }),
  async checkSecretReferences(place) {
    const [name = ''] = (await createSecretReference(place)).split('/').slice(-1);
    const agent = await checkingAgent(place.account, { name: place.named('oslo-2') });
    // Answered by the agent, while the request waits; not at all where the request is refused.
    void agent.answerNext(() => ({ finding: 'RESOLVED' })).catch(() => undefined);
    const body = { secretReferenceNames: [name], agentId: agent.agentId };
    return { path: `${place.project.path}/secret-references/check`, body };
  },
};

const day = 86_400_000;

const ofAccount: Examples = {
  async listCredentials(place) {
    await createCredential(place);
    return { path: '/credentials?page=0&size=1' };
  },
  createCredential: (place) => ({ path: '/credentials', body: credentialOf(place) }),
  async rotateCredential(place) {
    return { path: `/credentials/${await createCredential(place)}/rotate`, body: { overlapSeconds: 3_600 } };
  },
  async deleteCredential(place) {
    return { path: `/credentials/${await createCredential(place)}` };
  },
  listEvents({ now }) {
    const [from, to] = [-day, day].map((away) => new Date(now.getTime() + away).toISOString());
    return { path: `/events?from=${from}&to=${to}&eventName=override-written` };
  },
};

const agentOf = ({ named }: Place) => ({
  name: named('bergen').slice(0, 30),
  description: 'Loads the weather of the west',
  agentType: 'data_productivity_cloud',
  cloudProvider: 'aws',
  deployment: 'fargate',
});

async function createAgent(place: Place): Promise<string> {
  return (await place.account.admin.post<{ agentId: string }>('/agents', agentOf(place))).body.agentId;
}

const ofAgents: Examples = {
  listAgents: () => ({ path: '/agents' }),
  createAgent: (place) => ({ path: '/agents', body: agentOf(place) }),
  getAgent: ({ agent }) => ({ path: `/agents/${agent.agentId}` }),
  updateAgent: ({ agent }) => ({
    path: `/agents/${agent.agentId}`,
    body: { description: 'Loads the weather of the east' },
  }),
  deleteAgent: async (place) => ({ path: `/agents/${await createAgent(place)}` }),
  getAgentCredentials: async (place) => ({ path: `/agents/${await createAgent(place)}/credentials` }),
  refreshAgentSecret: async (place) => ({
    path: `/agents/${await createAgent(place)}/credentials`,
    body: { action: 'SECRET_REFRESH' },
  }),
  commandAgent: async (place) => ({
    path: `/agents/${await createAgent(place)}/commands`,
    body: { command: 'PAUSE', pausedUntil: new Date(place.now.getTime() + day).toISOString() },
  }),
  replaceAgentAllowlist: ({ agent, project }) => ({
    path: `/agents/${agent.agentId}/allowlist`,
    body: { projects: { [project.projectId]: { environments: ['dev'] } } },
  }),
  extendAgentAllowlist: ({ agent, project }) => ({
    path: `/agents/${agent.agentId}/allowlist`,
    body: { projects: { [project.projectId]: {} } },
  }),
  clearAgentAllowlist: ({ agent }) => ({ path: `/agents/${agent.agentId}/allowlist` }),
};

const ofDelivery: Examples = {
  createArtifact: ({ project, named }) => ({
    path: `${project.path}/artifacts`,
    body: multipart([mainPipeline]),
    parts: [mainPipeline],
    headers: {
      'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
      environmentName: 'dev',
      versionName: named('1.1.0'),
    },
  }),
  listArtifacts: ({ project }) => ({ path: `${project.path}/artifacts?environmentName=dev` }),
  getArtifact: ({ project }) => ({ path: `${project.path}/artifacts/details?environmentName=dev` }),
  listPublishedPipelines: ({ project }) => ({
    path: `${project.path}/published-pipelines?environmentName=dev`,
  }),
  enableArtifact: ({ project }) => ({
    path: `${project.path}/artifacts`,
    body: { environmentName: 'dev', versionName: 'v1', enabled: true },
  }),
  async promoteArtifact({ account, project, named }) {
    const versionName = named('1.2.0');
    await upload(account.admin, project, [mainPipeline], { environmentName: 'prod', versionName });
    return {
      path: `${project.path}/artifacts/promotions`,
      body: { versionName, sourceEnvironmentName: 'prod', targetEnvironmentName: 'dev' },
    };
  },
  async compareArtifacts({ account, project, named }) {
    const versionName = named('1.3.0');
    const parts = [mainPipeline, { name: 'README.md', content: '# Weather' }];
    await upload(account.admin, project, parts, { versionName });
    const against = 'againstEnvironmentName=dev&againstVersionName=v1';
    return {
      path: `${project.path}/artifacts/compare?environmentName=dev&versionName=${versionName}&${against}`,
    };
  },
  getAsset: ({ project }) => ({
    path: `${project.path}/artifacts/assets?environmentName=dev&versionName=v1&path=main.orch.yaml`,
  }),
};

const checks = { name: 'Table is filled.orch.yaml', content: sharedPipeline };

async function publishChecks({ account, named }: Place) {
  const headers = {
    'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
    sharedPipelineIdPrefix: named('Checks'),
    versionName: '1.0.0',
  };
  await account.admin.post('/shared-pipelines/artifacts', multipart([checks]), { headers });
  return headers;
}

const ofSharedPipelines: Examples = {
  async listSharedPipelines(place) {
    await publishChecks(place);
    return { path: '/shared-pipelines' };
  },
  createSharedPipelines: ({ named }) => ({
    path: '/shared-pipelines/artifacts',
    body: multipart([checks]),
    parts: [checks],
    headers: {
      'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
      sharedPipelineIdPrefix: 'Checks',
      versionName: named('1.1.0'),
      branch: 'main',
    },
  }),
  async listSharedArtifacts(place) {
    const { sharedPipelineIdPrefix } = await publishChecks(place);
    return { path: `/shared-pipelines/artifacts?sharedPipelineIdPrefix=${sharedPipelineIdPrefix}` };
  },
  async getSharedArtifact(place) {
    const { sharedPipelineIdPrefix } = await publishChecks(place);
    return { path: `/shared-pipelines/artifacts/details?sharedPipelineIdPrefix=${sharedPipelineIdPrefix}` };
  },
  async updateSharedArtifact(place) {
    const { sharedPipelineIdPrefix, versionName } = await publishChecks(place);
    return {
      path: '/shared-pipelines/artifacts',
      body: { enabled: false, sharedPipelineIdPrefix, versionName },
    };
  },
};

const ofExecutions: Examples = {
  startPipelineExecution: ({ project, agent }) => ({
    path: `${project.path}/pipeline-executions`,
    body: {
      pipelineName: 'main',
      environmentName: 'dev',
      agentId: agent.agentId,
      scalarVariables: { city: 'Bodø' },
    },
  }),
  async listPipelineExecutions(place) {
    await executionOf(place);
    return { path: '/pipeline-executions?environmentName=dev&limit=10' };
  },
  getPipelineExecution: async (place) => ({ path: await endedExecutionOf(place) }),
  getPipelineExecutionStatus: async (place) => ({ path: `${await executionOf(place)}/status` }),
  listPipelineExecutionSteps: async (place) => ({ path: `${await endedExecutionOf(place)}/steps` }),
  cancelPipelineExecution: async (place) => ({
    path: await executionOf(place),
    body: { status: 'CANCELLED', forceUpdate: false },
  }),
};

/**
 * By the operation's id. What an operation takes away is made anew, by the account's admin, before each
 * request.
 */
export const examples: Examples = {
  ...ofProjects,
  ...ofVariables,
  ...ofConnections,
  ...ofSecretReferences,
  ...ofAccount,
  ...ofAgents,
  ...ofDelivery,
  ...ofSharedPipelines,
  ...ofSecrets,
  ...ofExecutions,
};

const hello = {
  protocolVersions: [1],
  agentVersion: '1',
  instanceId,
  abilities: ['pipeline-execution'],
  concurrency: 1,
};

/** The same for the agent protocol. */
export const agentExamples: Examples = {
  agentHello: () => ({
    path: '/hello',
    body: hello,
  }),
  async agentClaim(place) {
    await executionOf(place);
    return { path: '/claims', body: { instanceId, max: 1, waitSeconds: 0 } };
  },
  agentHeartbeat: () => ({ path: '/heartbeats', body: { instanceId, held: [] } }),
  async agentReport(place) {
    const { work } = await claimOne(place);
    const report = { workId: work.workId, epoch: work.epoch, sequence: 1, type: 'started' };
    return { path: '/reports', body: { instanceId, reports: [report] } };
  },
  async agentGoodbye(place) {
    const leaving = randomUUID();
    await place.agent.client.post('/hello', { ...hello, instanceId: leaving });
    return { path: '/goodbye', body: { instanceId: leaving, stage: 'stopped' } };
  },
  async agentCertificate() {
    return { path: '/certificates', body: { instanceId, request: await requestFor(makeKeys('ec')) } };
  },
  async agentSecretReference(place) {
    const { work } = await claimOne(place);
    const [name = ''] = (await createSecretReference(place)).split('/').slice(-1);
    return { path: '/secret-references', body: { instanceId, workId: work.workId, epoch: work.epoch, name } };
  },
  async agentArtifact(place) {
    const { work } = await claimOne(place);
    return { path: `/artifacts/${work.payload.artifactDigest}` };
  },
  async agentBlob(place) {
    const { work } = await claimOne(place);
    const { files } = (
      await place.agent.client.get<{ files: { sha256: string }[] }>(
        `/artifacts/${work.payload.artifactDigest}`,
      )
    ).body;
    return { path: `/blobs/${files[0]?.sha256}` };
  },
};
