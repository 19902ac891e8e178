/** Rows of an HTTP API arrive in a table: from a profile and a secret to a run, on the real server and agent. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type FakeApi, type SeenRequest, startFakeApi } from '../../packages/agent/testing/fake-api.ts';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { checkout, type Installation } from './harness/installation.ts';
import { Project, pipelineFile } from './harness/project.ts';
import { filesHolding } from './harness/secrets.ts';
import { sharedInstallation } from './harness/shared-installation.ts';

const token = 'token-of-the-api-b27d4e60';
/** It expires after the first page. */
const briefToken = 'brief-token-of-the-api-30ca7f';
const client = { clientId: 'headgate', clientSecret: 'secret-of-the-client-91c5fa33' };
const accessToken = 'access-token-of-the-api-5d08e1';

interface Issue {
  id: number;
  title: string;
  updated_at: string;
}
const issue = (id: number, day: number, title = `issue ${id}`): Issue => ({
  id,
  title,
  updated_at: `2026-03-0${day}T00:00:00Z`,
});

/** Answers as the APIs of the example profiles do, two issues on a page, and only to the right token. */
function answerAs(api: () => string, issues: () => readonly Issue[]) {
  return ({ path, query, headers, body }: SeenRequest, response: ServerResponse) => {
    const refuse = () => {
      response.statusCode = 401;
      return { message: 'Bad credentials' };
    };
    if (path === '/services/oauth2/token') {
      const form = new URLSearchParams(body);
      const isRight =
        form.get('grant_type') === 'client_credentials' &&
        form.get('client_id') === client.clientId &&
        form.get('client_secret') === client.clientSecret;
      return isRight ? { access_token: accessToken, token_type: 'Bearer', expires_in: 3600 } : refuse();
    }
    if (path === '/services/data/v61.0/query') {
      if (headers.authorization !== `Bearer ${accessToken}`) return refuse();
      return query.has('more')
        ? { done: true, records: [{ Id: 'c' }] }
        : { done: false, nextRecordsUrl: `${path}?more=1`, records: [{ Id: 'a' }, { Id: 'b' }] };
    }
    const page = Number(query.get('page') ?? 1);
    const valid = page === 1 ? [token, briefToken] : [token];
    if (!valid.some((each) => headers.authorization === `Bearer ${each}`)) return refuse();
    assert.equal(path, '/repos/acme/shop/issues');
    const changed = issues().filter((each) => each.updated_at >= (query.get('since') ?? ''));
    if (page * 2 < changed.length) {
      query.set('page', String(page + 1));
      response.setHeader('link', `<${api()}${path}?${query}>; rel="next"`);
    }
    return changed.slice(page * 2 - 2, page * 2);
  };
}

/** Loads, and prints what the query finds in the environment's database. */
function loadAndPrint(input: object, output: object, query: string, more: object = {}): string {
  const load = {
    'api-extract-input-v2': { ...input, loadSelectedData: 'Yes' },
    'snowflake-output-connector-v0': output,
    ...more,
  };
  return pipelineFile(
    'orchestration',
    {
      Start: { type: 'start', transitions: { unconditional: ['Load'] } },
      Load: {
        type: 'modular-api-extract-input-v2',
        parameters: load,
        transitions: { success: ['Query'] },
      },
      Query: {
        type: 'query-to-scalar',
        parameters: { mode: 'Advanced', query, scalarVariableMapping: [['found', 'found']] },
        transitions: { success: ['Print'] },
      },
      Print: { type: 'print-variables', parameters: { variablesToPrint: [['found']] } },
    },
    { found: { metadata: { type: 'TEXT' }, defaultValue: '' } },
  );
}

const issuesQuery = `select string_agg(id || ' ' || title, ', ' order by id) as found from issues`;
const issuesInput = (secret: string) => ({
  profile: 'flex-github',
  endpoint: 'issues',
  connectionRef: { overrides: { authType: 'BEARER', token: secret } },
  uriParams: [
    ['owner', 'acme'],
    ['repository', 'shop'],
  ],
});
const issuesOutput = { tableName: 'issues', createTableMode: 'APPEND', primaryKeys: ['id'] };
const incremental = {
  dataLoading: {
    loadType: 'INCREMENTAL_LOAD',
    incrementalLoading: { highWaterMarkSelection: 'updated_at', parameter: 'since' },
  },
};

describe('a connector', () => {
  let headgate: Installation;
  let server: ApiClient;
  let project: Project;
  let api: FakeApi;
  let agentId: string;
  const profileIds: Record<string, string> = {};
  let issues = [issue(1, 1), issue(2, 2), issue(3, 3)];

  const readExample = (name: string, origin: string) =>
    readFileSync(join(checkout, 'examples/connectors', `${name}.json`), 'utf8').replaceAll(
      origin,
      api.origin,
    );
  const storeSecret = async (name: string, type: string, value: object) => {
    const secret = { name: `connector-${name}`, type, value };
    await server.ask('POST', `/v1/secrets/${agentId}/secret-value`, { secret });
    const reference = { type, secretName: secret.name };
    await server.ask('POST', `${project.path}/secret-references/${name}`, reference);
  };
  /** What the last step printed. */
  const printed = async (pipeline: string) => {
    const run = await project.run(pipeline, 'dev');
    assert.equal(run.status, 'SUCCESS', run.message);
    const steps = await project.steps(run.pipelineExecutionId);
    return steps.find((step) => step.name === 'Print')?.result.message;
  };

  before(async () => {
    headgate = await sharedInstallation();
    server = headgate.client();
    api = await startFakeApi();
    api.answer(
      answerAs(
        () => api.origin,
        () => issues,
      ),
    );
    agentId = (await server.ask('GET', '/v1/agents')).results[0].agentId;
    await waitUntil('the agent has its certificate', 120, async () => {
      const { status } = await server.call('GET', `/v1/agents/${agentId}/certificate`);
      return status === 200;
    });
    project = await Project.create(server);
    await storeSecret('api-token', 'PASSWORD', { password: token });
    await storeSecret('brief-token', 'PASSWORD', { password: briefToken });
    await storeSecret('crm-client', 'OAUTH_CLIENT_CRED', client);
    await server.ask('POST', `${project.path}/connector-oauths`, {
      name: 'salesforce',
      grantType: 'CLIENT_CREDENTIALS',
      tokenUrl: `${api.origin}/services/oauth2/token`,
      clientSecretReference: 'crm-client',
    });
    const profiles = {
      github: readExample('github', 'https://api.github.com'),
      salesforce: readExample('salesforce', 'https://example.my.salesforce.com'),
    };
    for (const [name, text] of Object.entries(profiles)) {
      profileIds[name] = (await server.ask('POST', '/v1/flex-connectors', JSON.parse(text))).id;
    }
    const all: { alternateId: string }[] = await server.ask('GET', '/v1/flex-connectors');
    const files = all.map((profile) => [
      `connector-profile:flex-${profile.alternateId}.json`,
      JSON.stringify(profile),
    ]);
    const { ignoredResources, warnings } = await project.publish({
      ...Object.fromEntries(files),
      'issues.orch.yaml': loadAndPrint(issuesInput('api-token'), issuesOutput, issuesQuery, incremental),
      'refused.orch.yaml': loadAndPrint(
        issuesInput('brief-token'),
        { tableName: 'issues', createTableMode: 'REPLACE_IF_EXISTS' },
        issuesQuery,
      ),
      'accounts.orch.yaml': loadAndPrint(
        { profile: 'flex-salesforce', endpoint: 'query' },
        { tableName: 'accounts', createTableMode: 'REPLACE_IF_EXISTS' },
        `select string_agg("Id", ', ' order by "Id") as found from accounts`,
      ),
    });
    assert.deepEqual([ignoredResources, warnings], [[], []]);
  });
  after(() => api.close());

  it('is tested from the agent, which shows the rows and masks the token', async () => {
    const tested = await server.ask('POST', `/v1/flex-connectors/${profileIds.github}/test`, {
      projectId: project.id,
      environmentName: 'dev',
      endpointId: 'issues',
      parameters: { uriParameters: { owner: 'acme', repository: 'shop' } },
      connection: { token: { secretName: 'api-token' } },
    });
    assert.deepEqual([tested.status, tested.rows], [200, issues.slice(0, 2)]);
    assert.equal(tested.request.headers.authorization, 'Bearer ***');
  });

  it('loads all pages, and then only what is new or changed', async () => {
    assert.equal(await printed('issues'), 'found = 1 issue 1, 2 issue 2, 3 issue 3');
    issues = [issue(1, 1, 'not sent again'), issue(2, 2), issue(3, 4, 'changed'), issue(4, 5)];
    const before = api.requests.length;
    assert.equal(await printed('issues'), 'found = 1 issue 1, 2 issue 2, 3 changed, 4 issue 4');
    const sent = api.requests.slice(before).map(({ query }) => query.get('since'));
    assert.deepEqual(sent, ['2026-03-03T00:00:00Z']);
  });

  it('leaves the table as it was when the token expires between two pages', async () => {
    const run = await project.run('refused');
    assert.equal(run.status, 'FAILED');
    assert.match(run.message ?? '', /"Load" failed: .*401/);
    assert.equal(await printed('issues'), 'found = 1 issue 1, 2 issue 2, 3 changed, 4 issue 4');
  });

  it('gets a token with the client’s credentials and follows the address of the next page', async () => {
    assert.equal(await printed('accounts'), 'found = a, b, c');
  });

  it('leaves no secret and no token in a file or in the output', () => {
    const secrets = [token, briefToken, client.clientSecret, accessToken];
    assert.deepEqual(filesHolding(secrets, headgate.keptFolders()), []);
    for (const secret of secrets) assert.equal(headgate.output.includes(secret), false, secret);
  });
});
