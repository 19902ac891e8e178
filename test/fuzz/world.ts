/** Two accounts, each with a project that has resources for every operation, and all callers of requests. */
import { makePagingToken } from '../../packages/server/src/kernel/http/paging.ts';
import { createConnectorOauth } from '../../packages/server/src/workspace/connector-oauths/connector-oauth.examples.ts';
import { buildConnectorProfile } from '../../packages/server/src/workspace/connector-profiles/connector-profile.examples.ts';
import { type Account, createAccount } from '../../packages/server/testing/account.ts';
import { createEndedExecution } from '../../packages/server/testing/executions.ts';
import type { TestServer } from '../../packages/server/testing/open-server.ts';
import { createPlace, type Place } from '../../packages/server/testing/place.ts';
import { sharedPipeline } from '../../packages/server/testing/project.ts';
import { publishShared } from '../../packages/server/testing/shared-pipelines.ts';
import { createTestExecution } from '../../packages/server/testing/tested-project.ts';
import type { Caller, Draft } from './draft.ts';
import type { Wire } from './sending.ts';

export interface World {
  wireOf(draft: Draft): Wire;
  /** Secrets by name. No response and no log line may contain one. */
  secrets: ReadonlyMap<string, string>;
}

export async function createWorld(server: TestServer): Promise<World> {
  const [own, foreign] = [await furnished(server), await furnished(server)];
  const { account, project, agent } = own.place;
  const { projectId } = project;
  const actors = {
    admin: account.admin,
    contributor: await account.actor('MEMBER', { projectId, role: 'CONTRIBUTOR' }),
    viewer: await account.actor('BILLING_ADMIN', { projectId, role: 'VIEWER' }),
    operatorInDev: await account.actor('ADMIN', { projectId, environmentName: 'dev', role: 'OPERATOR' }),
    withoutRole: await account.actor('DIRECTORY'),
    foreignAdmin: foreign.place.account.admin,
  };
  const agentOwner = { accountId: account.accountId, actorId: agent.agentId, clientId: agent.clientId };
  const tokens: Partial<Record<Caller, string>> = {
    forged: 'eyJhbGciOiJub25lIn0.e30.',
    agent: await server.deps.tokens.issue(agentOwner, 'agent'),
  };
  const secrets = new Map([['the secret of the agent', agent.secret.reveal()]]);
  for (const [name, actor] of Object.entries(actors)) {
    const token = await actor.token();
    tokens[name as Caller] = token;
    secrets.set(`the secret of ${name}`, actor.secret.reveal());
    secrets.set(`the signature of the token of ${name}`, token.slice(token.lastIndexOf('.') + 1));
  }
  const fill = (text: string) =>
    text.replaceAll(/\{\{(foreign\.)?([\w.]+)\}\}/g, (_, away: string | undefined, name: string) => {
      const { ids } = away === undefined ? own : foreign;
      return ids[name] ?? name;
    });
  return {
    secrets,
    wireOf({ caller, method, path, query, headers, body }) {
      const request = query.map(([name, value]) => `${name}=${value}`).join('&');
      const token = tokens[caller];
      const filled = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), fill(value)]);
      return {
        method,
        url: fill(request === '' ? path : `${path}?${request}`),
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...Object.fromEntries(filled),
        },
        body: body === undefined ? undefined : fill(body),
      };
    },
  };
}

interface Furnished {
  place: Place;
  /** Values by placeholder name. */
  ids: Record<string, string>;
}

async function furnished(server: TestServer): Promise<Furnished> {
  const account: Account = await createAccount(server);
  const place = await createPlace(account);
  const { admin } = account;
  const { path, projectId } = place.project;
  const connection = {
    platformConnectionType: 'COMPONENT_BASIC',
    authProvider: 'NONE',
    authType: 'GENERIC_SECRET',
  };
  await admin.post(`${path}/connections`, { name: 'reader', ...connection });
  const lake = { platformConnectionType: 'DWH', authProvider: 'DUCKDB', authType: 'NONE' };
  await admin.post(`${path}/data-platform-connections`, { name: 'lake', ...lake });
  const reference = { type: 'PASSWORD', secretName: 'prod/reader', vaultType: 'GCP_SECRET_MANAGER' };
  await admin.post(`${path}/secret-references/reader-key`, reference);
  await admin.post(`${path}/variables`, { name: 'count', type: 'NUMBER', behaviour: 'SHARED', value: 1 });
  await admin.post(`${path}/variables`, { name: 'table', type: 'GRID', behaviour: 'COPIED' });
  const { credentialId } = (
    await admin.post<{ credentialId: string }>('/credentials', { name: 'spare', role: 'Member' })
  ).body;
  const check = { name: 'check.orch.yaml', content: sharedPipeline };
  await publishShared(admin, [check], { versionName: 'v1' });
  const start = { pipelineName: 'main', environmentName: 'dev', agentId: place.agent.agentId };
  const executions = `${path}/pipeline-executions`;
  await admin.post(executions, start);
  const { pipelineExecutionId } = (await admin.post<{ pipelineExecutionId: string }>(executions, start)).body;
  await createEndedExecution(place);
  await account.updateLineage();
  const testExecution = (await createTestExecution(place)).split('/').at(-1) ?? '';
  const request = {
    agentConfig: { name: 'data_engineer_agent', projectId, environmentName: 'dev' },
    message: 'List the pipelines.',
  };
  const { taskId } = (await admin.post<{ taskId: string }>('/ai/agents/tasks', request)).body;
  const profile = buildConnectorProfile('Shop');
  const connector = (await admin.post<{ id: string }>('/flex-connectors', profile)).body.id;
  const oauth = await createConnectorOauth(place);
  const { more = '' } = (await admin.get<{ more?: string }>('/pipeline-executions?limit=1')).body;
  const ids = {
    account: account.accountId,
    actor: admin.actorId,
    project: projectId,
    agent: place.agent.agentId,
    credential: credentialId,
    execution: pipelineExecutionId,
    testExecution,
    aiTask: taskId,
    'more.listAiTaskMessages': makePagingToken('1'),
    connectorProfile: connector,
    connectorOauth: oauth.oauth.connectorOauthId,
    'more.listPipelineExecutions': more,
    'more.listPipelineExecutionLogs': makePagingToken('1'),
    etag: (await admin.get(`${path}/variables/city`)).etag,
  };
  return { place, ids };
}
