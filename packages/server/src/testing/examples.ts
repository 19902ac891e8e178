/** A request that succeeds for each operation of the management interface: what the tests that walk all operations send. */
import { randomUUID } from 'node:crypto';
import type { ClaimResponse, Operation } from '@headgate/contract';
import type { Account, RegisteredAgent } from './account.ts';
import type { Asked } from './client.ts';
import { multipart, multipartBoundary, smallPipeline, type TestProject, upload } from './project.ts';

/** A project in which every operation has something to work on: in dev a version and an override, and an agent. */
export interface Place {
  account: Account;
  agent: RegisteredAgent;
  project: TestProject;
}

export async function createPlace(account: Account): Promise<Place> {
  const place = { account, agent: await account.agent(), project: await account.project() };
  await upload(account.admin, place.project, [{ name: 'main.orch.yaml', content: smallPipeline }]);
  await account.admin.post(`${place.project.path}/variables`, city);
  await account.admin.post(`${place.project.path}/variables/city/environment-overrides`, override);
  return place;
}

export interface Example extends Asked {
  path: string;
}

const city = { name: 'city', type: 'TEXT', behaviour: 'SHARED', value: 'Oslo' };
const override = { environmentName: 'dev', value: 'Bergen' };
const uniqueName = () => `n${randomUUID().replaceAll('-', '')}`;

async function executionOf({ account, agent, project }: Place): Promise<string> {
  const body = { pipelineName: 'main', environmentName: 'dev', agentId: agent.agentId };
  const path = `${project.path}/pipeline-executions`;
  const { pipelineExecutionId } = (await account.admin.post<{ pipelineExecutionId: string }>(path, body))
    .body;
  return `${path}/${pipelineExecutionId}`;
}

const connection = () => ({
  name: uniqueName(),
  platformConnectionType: 'COMPONENT_BASIC',
  authProvider: 'NONE',
  authType: 'GENERIC_SECRET',
  connectionDetails: { connectionProperties: { secretName: 'a-secret' } },
});

async function connectionOverride({ account, project }: Place) {
  const made = connection();
  await account.admin.post(`${project.path}/connections`, made);
  const connectionOverrides = { connectionProperties: { secretName: 'another-secret' } };
  return { environmentName: 'dev', connectionName: made.name, authType: made.authType, connectionOverrides };
}

async function credentialOf(account: Account): Promise<string> {
  const body = { name: uniqueName(), role: 'MEMBER' };
  return (await account.admin.post<{ credentialId: string }>('/credentials', body)).body.credentialId;
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

/** By the operation's id. What an operation takes away is made anew, by the account's admin, before each request. */
export const examples: Record<string, (place: Place) => Promise<Example> | Example> = {
  listProjects: () => ({ path: '/projects' }),
  createProject: () => ({
    path: '/projects',
    body: { name: uniqueName(), warehouse: 'DUCKDB', agentDeploymentType: 'HYBRID' },
  }),
  getProject: ({ project }) => ({ path: project.path }),
  updateProject: ({ project }) => ({ path: project.path, body: { description: randomUUID() } }),
  deleteProject: ({ project }) => ({ path: project.path }),
  listEnvironments: ({ project }) => ({ path: `${project.path}/environments` }),
  createEnvironment: ({ project }) => ({
    path: `${project.path}/environments`,
    body: { name: uniqueName() },
  }),
  getEnvironment: ({ project }) => ({ path: `${project.path}/environments/dev` }),
  updateEnvironment: ({ project }) => ({
    path: `${project.path}/environments/dev`,
    body: { description: randomUUID() },
  }),
  deleteEnvironment: ({ project }) => ({ path: `${project.path}/environments/dev` }),
  listVariables: ({ project }) => ({ path: `${project.path}/variables` }),
  createVariable: ({ project }) => ({
    path: `${project.path}/variables`,
    body: { ...city, name: uniqueName() },
  }),
  getVariable: ({ project }) => ({ path: `${project.path}/variables/city` }),
  updateVariable: ({ project }) => ({
    path: `${project.path}/variables/city`,
    body: { type: 'TEXT', behaviour: 'SHARED', description: randomUUID() },
  }),
  async deleteVariable({ account, project }) {
    const name = uniqueName();
    await account.admin.post(`${project.path}/variables`, { ...city, name });
    return { path: `${project.path}/variables/${name}` };
  },
  getOverrides: ({ project }) => ({ path: `${project.path}/variables/city/environment-overrides` }),
  writeOverrides: ({ project }) => ({
    path: `${project.path}/variables/city/environment-overrides`,
    body: [override],
  }),
  async deleteOverride({ account, project }) {
    const path = `${project.path}/variables/city/environment-overrides`;
    await account.admin.post(path, override);
    return { path: `${path}/dev` };
  },
  listConnections: ({ project }) => ({ path: `${project.path}/connections` }),
  createConnection: ({ project }) => ({ path: `${project.path}/connections`, body: connection() }),
  async updateConnection({ account, project }) {
    const { name, authProvider: _, ...body } = connection();
    await account.admin.post(`${project.path}/connections`, { ...body, name, authProvider: 'NONE' });
    return { path: `${project.path}/connections?connectionName=${name}`, body };
  },
  async deleteConnection({ account, project }) {
    const body = connection();
    await account.admin.post(`${project.path}/connections`, body);
    return { path: `${project.path}/connections?connectionName=${body.name}` };
  },
  listConnectionOverrides: ({ project }) => ({
    path: `${project.path}/connections/environment-overrides?environmentName=dev`,
  }),
  async writeConnectionOverride(place) {
    return {
      path: `${place.project.path}/connections/environment-overrides`,
      body: await connectionOverride(place),
    };
  },
  async deleteConnectionOverrides(place) {
    const path = `${place.project.path}/connections/environment-overrides`;
    const body = await connectionOverride(place);
    await place.account.admin.post(path, body);
    return { path: `${path}?environmentName=dev&connectionNames=${body.connectionName}` };
  },
  listDataPlatformConnections: ({ project }) => ({ path: `${project.path}/data-platform-connections` }),
  createDataPlatformConnection: ({ project }) => ({
    path: `${project.path}/data-platform-connections`,
    body: { name: uniqueName(), platformConnectionType: 'dwh', authProvider: 'duckdb', authType: 'none' },
  }),
  listCredentials: () => ({ path: '/credentials' }),
  createCredential: () => ({ path: '/credentials', body: { name: uniqueName(), role: 'Member' } }),
  async rotateCredential({ account }) {
    return { path: `/credentials/${await credentialOf(account)}/rotate`, body: {} };
  },
  async deleteCredential({ account }) {
    return { path: `/credentials/${await credentialOf(account)}` };
  },
  listEvents: () => ({ path: '/events?from=2020-01-01T00:00:00.000Z&to=2100-01-01T00:00:00.000Z' }),
  createArtifact: ({ project }) => ({
    path: `${project.path}/artifacts`,
    body: multipart([{ name: 'main.orch.yaml', content: smallPipeline }]),
    headers: {
      'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
      environmentName: 'dev',
      versionName: randomUUID(),
    },
  }),
  listArtifacts: ({ project }) => ({ path: `${project.path}/artifacts?environmentName=dev` }),
  getArtifact: ({ project }) => ({ path: `${project.path}/artifacts/details?environmentName=dev` }),
  listAgents: () => ({ path: '/agents' }),
  startPipelineExecution: ({ project, agent }) => ({
    path: `${project.path}/pipeline-executions`,
    body: { pipelineName: 'main', environmentName: 'dev', agentId: agent.agentId },
  }),
  listPipelineExecutions: () => ({ path: '/pipeline-executions' }),
  getPipelineExecution: async (place) => ({ path: await executionOf(place) }),
  getPipelineExecutionStatus: async (place) => ({ path: `${await executionOf(place)}/status` }),
  listPipelineExecutionSteps: async (place) => ({ path: `${await executionOf(place)}/steps` }),
  cancelPipelineExecution: async (place) => ({
    path: await executionOf(place),
    body: { status: 'CANCELLED', forceUpdate: false },
  }),
};

const instanceId = randomUUID();

/** The same for the agent protocol. */
export const agentExamples: Record<string, (place: Place) => Promise<Example> | Example> = {
  agentHello: () => ({
    path: '/hello',
    body: { protocolVersions: [1], agentVersion: '1', instanceId, abilities: [], concurrency: 1 },
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

async function claimOne(place: Place) {
  await executionOf(place);
  const body = { instanceId, max: 1, waitSeconds: 0 };
  const [work] = (await place.agent.client.post<ClaimResponse>('/claims', body)).body.work;
  if (work === undefined) throw new Error('there is no work to claim');
  return { work };
}
