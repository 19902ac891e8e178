/**
 * The exact requests of public clients of this interface: a client that declares
 * resources, and a deployment script. The first must read back exactly what it wrote; otherwise its next plan
 * shows a change.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { endlessSql, sqlScript } from './harness/project.ts';
import { sharedInstallation } from './harness/shared-installation.ts';

type Json = Record<string, unknown>;

const vaults: Json[] = [
  { type: 'CLOUD_A_SECRET_MANAGER', region: 'eu-west-1' },
  { type: 'AWS_SECRET_MANAGER', region: 'eu-west-1' },
  { type: 'CLOUD_B_SECRET_MANAGER', vaultName: 'keys' },
  { type: 'AZURE_SECRET_MANAGER', vaultName: 'keys' },
  { type: 'CLOUD_C_SECRET_MANAGER', gcpProjectId: 'keys-1' },
  { type: 'GCP_SECRET_MANAGER', gcpProjectId: 'keys-1' },
  { type: 'HEADGATE_CUSTOMER_VAULT' },
  { type: 'MATILLION_CUSTOMER_VAULT' },
  { type: 'DEFAULT_SECRET_VAULT' },
];

/** The written members are read back unchanged; others are computed by the server. */
function requireNoDrift(read: Json, written: Json, computed: readonly string[]): void {
  const rest = Object.fromEntries(Object.entries(read).filter(([name]) => !computed.includes(name)));
  assert.deepEqual(rest, written);
}

describe('public clients', () => {
  let client: ApiClient;
  let agentId: string;
  let path: string;
  before(async () => {
    client = (await sharedInstallation()).client();
    agentId = (await client.ask('GET', '/v1/agents')).results[0].agentId;
    const project = { name: 'Orders', description: 'of the shop', agentDeploymentType: 'HYBRID' };
    const { projectId } = await client.ask('POST', '/v1/projects', project);
    path = `/v1/projects/${projectId}`;
    requireNoDrift(await client.ask('GET', path), { name: project.name, description: project.description }, [
      'id',
    ]);
  });

  it('declare an environment, which has the only agent as its default', async () => {
    const dev = { name: 'dev', displayName: 'Development', description: 'for trials' };
    const computed = ['defaultAgentId', 'defaultAgentName'];
    const made = await client.ask('POST', `${path}/environments`, {
      ...dev,
      defaultUserAccessLevel: 'runner',
    });
    requireNoDrift(made, dev, computed);
    const read = await client.ask('GET', `${path}/environments/dev`);
    assert.deepEqual(read, made);
    assert.equal(read.defaultAgentId, agentId);
  });

  it('declare connections and their overrides, in each spelling of each vault', async () => {
    const computed = ['id', 'createdBy', 'createdDate', 'projectId'];
    const triple = {
      platformConnectionType: 'COMPONENT_BASIC',
      authProvider: 'NONE',
      authType: 'GENERIC_SECRET',
    };
    for (const secretsLocation of vaults) {
      const name = `by ${secretsLocation.type}`;
      const connectionProperties = { secretName: 'orders', secretKey: 'password' };
      const connectionDetails = { description: 'of the orders', connectionProperties, secretsLocation };
      const connection = { name, ...triple, connectionDetails };
      await client.ask('POST', `${path}/connections`, connection);
      const list = `${path}/connections?connectionNames=${encodeURIComponent(name)}`;
      requireNoDrift((await client.ask('GET', list)).results[0], connection, computed);

      const { name: _, authProvider, ...replacement } = connection;
      const one = `${path}/connections?connectionName=${encodeURIComponent(name)}`;
      requireNoDrift(await client.ask('PUT', one, replacement), connection, computed);

      const connectionOverrides = { connectionProperties: { secretName: 'orders-dev' }, secretsLocation };
      const override = { connectionName: name, authType: triple.authType, connectionOverrides };
      const overrides = `${path}/connections/environment-overrides`;
      await client.ask('POST', overrides, { environmentName: 'dev', ...override });
      const { results } = await client.ask('GET', `${overrides}?environmentName=dev&size=100`);
      const read = results.find((each: Json) => each.name === name);
      requireNoDrift(read, { name, ...triple, connectionOverrides }, computed);
    }
  });

  it('declare secret references by `type`, in the vendor’s terms', async () => {
    for (const { type: vaultType } of vaults) {
      const reference = {
        secretName: 'orders',
        secretKey: 'password',
        vaultType,
        description: 'of the shop',
      };
      const body = { type: 'PASSWORD', agentType: 'Matillion hosted', agentId, ...reference };
      const made = await client.ask('POST', `${path}/secret-references/${vaultType}`, body);
      requireNoDrift(made, { ...body, name: vaultType }, []);
      const { results } = await client.ask('GET', `${path}/secret-references?type=PASSWORD`);
      assert.deepEqual(
        results.find((each: Json) => each.name === vaultType),
        made,
      );
    }
  });

  it('declare a warehouse connection and use it in an environment', async () => {
    const connectionProperties = {
      account: { value: 'ab12345' },
      username: { value: 'LOADER' },
      privateKey: { secretName: 'flakes', secretKey: 'key' },
      passphrase: { secretName: 'flakes-passphrase' },
    };
    const connection = {
      name: 'flakes',
      authProvider: 'SNOWFLAKE',
      authType: 'KEY_PAIR',
      connectionProperties,
    };
    const at = `${path}/data-platform-connections`;
    const body = { ...connection, platformConnectionType: 'DWH' };
    await client.ask('POST', at, body);
    requireNoDrift(await client.ask('GET', `${at}/flakes`), body, []);
    const environment = { name: 'uat', displayName: 'Acceptance' };
    const made = await client.ask('POST', `${path}/environments`, {
      ...environment,
      defaultConnections: { DWH: { SNOWFLAKE: 'flakes' } },
      connectionOverrides: [
        {
          connectionName: 'flakes',
          connectionProperties: { role: { value: 'TESTER' }, privateKey: { secretName: 'k' } },
        },
      ],
    });
    requireNoDrift(made, environment, ['defaultAgentId', 'defaultAgentName']);
    await client.ask('PATCH', `${path}/environments/uat`, {
      defaultConnections: {},
      connectionOverrides: [],
    });
    requireNoDrift(await client.ask('PUT', `${at}/flakes`, body), body, []);
    assert.equal((await client.call('DELETE', `${at}/flakes`)).status, 204);
  });

  it('deploy: upload, start, poll, cancel', async () => {
    const form = new FormData();
    for (const [name, sql] of Object.entries({
      'load.orch.yaml': 'select 1',
      'endless.orch.yaml': endlessSql,
    }))
      form.append(name, new Blob([sqlScript(sql)], { type: 'text/plain' }), name);
    const headers = { environmentName: 'dev', versionName: 'build-1', commitHash: 'a1b2c3', branch: 'main' };
    const uploaded = await client.ask('POST', `${path}/artifacts`, form, headers);
    assert.equal(uploaded.versionName, 'build-1');
    assert.deepEqual(uploaded.ignoredResources, []);

    const executions = `${path}/pipeline-executions`;
    const start = async (pipelineName: string) =>
      (
        await client.ask('POST', executions, {
          pipelineName,
          environmentName: 'dev',
          executionTag: pipelineName,
        })
      ).pipelineExecutionId;
    const poll = (id: string, expected: string) =>
      waitUntil(
        `${expected} of ${id}`,
        120,
        async () => (await client.ask('GET', `${executions}/${id}/status`)).status === expected,
      );
    const loaded = await start('load');
    await poll(loaded, 'SUCCESS');
    const { result, ...flat } = await client.ask('GET', `${executions}/${loaded}`);
    assert.deepEqual(result, flat);
    assert.deepEqual([flat.status, flat.versionName, flat.executionTag], ['SUCCESS', 'build-1', 'load']);
    const listed = await client.ask(
      'GET',
      `/v1/pipeline-executions?pipelineName=LOAD&status=SUCCESS&status=FAILED&limit=5`,
    );
    assert.deepEqual(
      listed.results.map((each: Json) => each.pipelineExecutionId),
      [loaded],
    );

    const endless = await start('endless');
    await waitUntil('the running step', 120, async () =>
      (await client.ask('GET', `${executions}/${endless}/steps`)).results.some(
        (each: Json) => each.name === 'Script',
      ),
    );
    const cancelled = await client.call('PATCH', `${executions}/${endless}`, {
      body: { status: 'CANCELLED' },
    });
    assert.deepEqual([cancelled.status, cancelled.body], [200, { pipelineExecutionId: endless }]);
    await poll(endless, 'CANCELLING');
    const forced = { status: 'CANCELLED', forceUpdate: true };
    await client.ask('PATCH', `${executions}/${endless}`, forced);
    await poll(endless, 'CANCELLED');
  });

  it('get the nearest word for a misspelled one', async () => {
    const agent = {
      name: 'typo',
      agentType: 'data_productivity_cloud',
      cloudProvider: 'aws',
      deployment: 'fragate',
    };
    const { status, body } = await client.call('POST', '/v1/agents', { body: agent });
    assert.equal(status, 422);
    assert.match(body.detail, /Did you mean fargate\?/);
  });
});
