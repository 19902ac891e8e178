/** Definitions of streaming pipelines: their life, their agents, their commands and the secrets that they name. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Page, type StreamingPipeline, streamingCommands, streamingStatuses } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

const password = { secretType: 'AWS_SECRETS_MANAGER', secretName: 'orders-db' };
const connection = { host: 'orders.example.com', port: 5432, username: 'stream', password };
const streamingSource = {
  type: 'postgres',
  connection: { ...connection, database: 'orders' },
  tables: [{ schema: 'public', table: 'orders' }],
};
const streamingTarget = { type: 's3', bucket: 'orders', prefix: '' };
const definition = { name: 'orders', streamingSource, streamingTarget };

async function createProject() {
  const account = await server.account();
  const made = await account.project();
  const path = `${made.path}/streaming-pipelines`;
  const create = async (input: object = {}) => {
    const answer = await account.admin.post<StreamingPipeline>(path, { ...definition, ...input });
    assert.equal(answer.status, 201, answer.text);
    return { ...answer.body, path: `${path}/${answer.body.streamingPipelineId}`, etag: answer.etag };
  };
  return { account, admin: account.admin, made, path, create };
}

test('a definition is created, listed newest first, replaced and deleted', async () => {
  const { admin, made, path, create } = await createProject();
  const first = await create();
  const second = await create({ name: 'second', advancedProperties: { 'buffer.size': 1000, flag: true } });
  const list = async () => (await admin.get<Page<StreamingPipeline>>(path)).body;
  const { results, total, size } = await list();
  assert.deepEqual([results.map(({ name }) => name), total, size], [['second', 'orders'], 2, 25]);
  const { path: secondPath, etag: _, ...shown } = second;
  assert.deepEqual(results[0], shown);
  assert.deepEqual(shown, {
    streamingPipelineId: second.streamingPipelineId,
    projectId: made.projectId,
    ...definition,
    name: 'second',
    advancedProperties: { 'buffer.size': '1000', flag: 'true' },
  });
  const replacement = { ...definition, streamingTarget: { type: 'FILE', path: '/data', format: 'avro' } };
  const replaced = await admin.send<StreamingPipeline>('PUT', first.path, { body: replacement });
  assert.deepEqual(
    [replaced.status, replaced.body.streamingTarget],
    [200, { type: 'file', path: '/data', format: 'avro' }],
  );
  assert.equal((await admin.delete(secondPath)).status, 204);
  requireProblem(await admin.get(secondPath), 404, 'streaming-pipeline-not-found');
  assert.equal((await list()).total, 1);
});

test('a replacement removes what it omits', async () => {
  const { account, admin, create } = await createProject();
  const { agentId } = await account.agent(undefined, { agentType: 'streaming' });
  const made = await create({ agentId, advancedProperties: {} });
  assert.deepEqual([made.agentId, made.advancedProperties], [agentId, {}]);
  const { body } = await admin.send<StreamingPipeline>('PUT', made.path, { body: definition });
  assert.ok(!('agentId' in body) && !('advancedProperties' in body));
});

test('names are unique in a project, also for a replacement', async () => {
  const { admin, path, create } = await createProject();
  await create();
  const other = await create({ name: 'other' });
  requireProblem(await admin.post(path, definition), 409, 'streaming-pipeline-name-taken');
  requireProblem(
    await admin.send('PUT', other.path, { body: definition }),
    409,
    'streaming-pipeline-name-taken',
  );
  assert.equal((await admin.send('PUT', other.path, { body: { ...definition, name: 'other' } })).status, 200);
});

test('an old ETag is refused, and a replacement changes the ETag', async () => {
  const { admin, create } = await createProject();
  const { path, etag } = await create();
  assert.equal((await admin.get(path)).etag, etag);
  const headers = { 'if-match': etag };
  const replaced = await admin.send('PUT', path, { body: definition, headers });
  assert.notEqual(replaced.etag, etag);
  requireProblem(await admin.send('PUT', path, { body: definition, headers }), 412, 'etag-mismatch');
  requireProblem(await admin.delete(path, { headers }), 412, 'etag-mismatch');
  assert.equal((await admin.delete(path, { headers: { 'if-match': replaced.etag } })).status, 204);
});

test('a definition of another project does not exist', async () => {
  const { create, account, admin } = await createProject();
  const { streamingPipelineId } = await create();
  const other = await account.project();
  for (const id of [streamingPipelineId, 'nothing']) {
    const path = `${other.path}/streaming-pipelines/${id}`;
    requireProblem(await admin.get(path), 404, 'streaming-pipeline-not-found');
    requireProblem(await admin.get(`${path}/status`), 404, 'streaming-pipeline-not-found');
    requireProblem(await admin.send('PUT', path, { body: definition }), 404, 'streaming-pipeline-not-found');
    requireProblem(await admin.delete(path), 404, 'streaming-pipeline-not-found');
    const command = { command: 'STOP' };
    requireProblem(await admin.post(`${path}/commands`, command), 404, 'streaming-pipeline-not-found');
  }
});

test('the agent must be one of the account and of the type streaming', async () => {
  const { account, admin, path } = await createProject();
  const stranger = await (await server.account()).agent(undefined, { agentType: 'streaming' });
  for (const agentId of [stranger.agentId, 'nobody'])
    requireProblem(await admin.post(path, { ...definition, agentId }), 422, 'unknown-agent');
  const { agentId, name } = await account.agent();
  const answer = await admin.post(path, { ...definition, agentId });
  requireProblem(answer, 422, 'streaming-agent-type');
  assert.match(answer.problem.detail, new RegExp(`"${name}" has the agentType data_productivity_cloud`));
  requireProblem(await admin.post(path, { ...definition, agentId: '' }), 400, 'invalid-request');
});

test('a definition outlives its agent and says so', async () => {
  const { account, admin, path, create } = await createProject();
  const { agentId } = await account.agent(undefined, { agentType: 'streaming' });
  const made = await create({ agentId });
  assert.equal((await admin.delete(`/agents/${agentId}?force=true`)).status, 202);
  const problem = {
    code: 'unknown-agent',
    detail: `The agent ${agentId} was deleted. Replace the definition with another agentId.`,
  };
  const read = (await admin.get<StreamingPipeline>(made.path)).body;
  assert.deepEqual([read.agentId, read.problem], [agentId, problem]);
  assert.deepEqual((await admin.get<Page<StreamingPipeline>>(path)).body.results, [read]);
  assert.deepEqual((await admin.get(`${made.path}/status`)).body, { status: 'stopped', problem });
  const answer = await admin.send('PUT', made.path, { body: { ...definition, agentId } });
  requireProblem(answer, 422, 'unknown-agent');
  const { body } = await admin.send<StreamingPipeline>('PUT', made.path, { body: definition });
  assert.equal(body.problem, undefined);
});

test('each command in each state: this version starts none, and stops one that runs', async () => {
  const { account, admin, create } = await createProject();
  const expected = {
    START: { stopped: 'streaming-not-supported', running: 'streaming-not-supported' },
    STOP: { stopped: 'streaming-pipeline-not-running', running: undefined },
  } as const;
  for (const command of streamingCommands) {
    for (const status of streamingStatuses) {
      const made = await create({ name: `${command} ${status}` });
      assert.deepEqual((await admin.get(`${made.path}/status`)).body, { status: 'stopped' });
      if (status === 'running') await account.runStreamingPipeline(made.streamingPipelineId);
      const answer = await admin.post(`${made.path}/commands`, { command });
      const code = expected[command][status];
      if (code === undefined) {
        assert.deepEqual([answer.status, answer.body], [202, { status: 'stopped' }]);
        assert.deepEqual((await admin.get(`${made.path}/status`)).body, { status: 'stopped' });
      } else {
        requireProblem(answer, code === 'streaming-not-supported' ? 422 : 409, code);
        assert.deepEqual((await admin.get(`${made.path}/status`)).body, { status });
      }
    }
  }
  const { path } = await create({ name: 'words' });
  requireProblem(await admin.post(`${path}/commands`, { command: 'start' }), 422, 'streaming-not-supported');
  const answer = await admin.post(`${path}/commands`, { command: 'STAPT' });
  requireProblem(answer, 400, 'invalid-request');
  assert.match(answer.problem.violations?.[0] ?? '', /body\.command: must be one of START, STOP/);
});

test('of two STOPs of one that runs, one stops it', async () => {
  const { account, admin, create } = await createProject();
  const { path, streamingPipelineId } = await create();
  await account.runStreamingPipeline(streamingPipelineId);
  const stop = () => admin.post(`${path}/commands`, { command: 'STOP' });
  const answers = await Promise.all([stop(), stop(), stop()]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409, 409]);
});

const secretAt = (secretName: string, more = {}) => ({ secretType: 'headgate_vault', secretName, ...more });
const snowflake = (authentication: object) => ({
  type: 'snowflake',
  connection: { accountName: 'myorg', username: 'u', authentication },
  ...{ role: 'r', warehouse: 'w', database: 'd', stageSchema: 's', stageName: 'n', tableSchema: 't' },
  ...{ tablePrefixType: 'none', transformationType: 'change_log' },
});
const privateKey = secretAt('other');

/** Each place of a definition that names the secret `reader`. */
const naming: Record<string, object> = {
  'of the source': {
    streamingSource: {
      ...streamingSource,
      connection: { ...streamingSource.connection, password: secretAt('reader') },
    },
  },
  'of a storage account': {
    streamingTarget: { type: 'abs', container: 'c', accountName: 'a', accountKey: secretAt('reader') },
  },
  'of a target database': {
    streamingTarget: {
      type: 'postgres',
      connection: { ...connection, database: 'd', password: secretAt('reader') },
      schema: 's',
    },
  },
  'of a private key': { streamingTarget: snowflake({ type: 'KEY_PAIR', privateKey: secretAt('reader') }) },
  'of a passphrase': {
    streamingTarget: snowflake({ type: 'key-pair', privateKey, passphrase: secretAt('reader') }),
  },
};

test('a secret reference that a definition names can only be deleted with force', async () => {
  const { admin, made, create } = await createProject();
  const reference = `${made.path}/secret-references/reader`;
  const write = () => admin.post(reference, { type: 'PASSWORD', secretName: 'prod/reader' });
  for (const [name, input] of Object.entries(naming)) {
    assert.equal((await write()).status, 201);
    const { path } = await create({ name, ...input });
    const answer = await admin.delete(reference);
    requireProblem(answer, 409, 'secret-reference-in-use');
    assert.ok(answer.problem.detail.includes(`is used by the streaming pipeline "${name}";`), answer.text);
    assert.equal((await admin.delete(`${reference}?force=true`)).status, 204);
    await admin.delete(path);
  }
  await write();
  assert.equal((await admin.delete(reference)).status, 204);
});

test('a definition uses a reference also by the name of its secret, if the keys agree', async () => {
  const { admin, made, create } = await createProject();
  const reference = `${made.path}/secret-references/reader`;
  const request = { type: 'PASSWORD', secretName: 'prod/reader', secretKey: 'password' };
  const uses = async (secret: object) => {
    await admin.post(reference, request);
    const password = { secretType: 'aws_secrets_manager', ...secret };
    const source = { ...streamingSource, connection: { ...streamingSource.connection, password } };
    const { path } = await create({ streamingSource: source });
    const { status } = await admin.delete(reference);
    await admin.delete(path);
    return status === 409;
  };
  assert.equal(await uses({ secretName: 'prod/reader' }), true);
  assert.equal(await uses({ secretName: 'prod/reader', key: 'password' }), true);
  assert.equal(await uses({ secretName: 'prod/reader', secretKey: 'user' }), false);
  assert.equal(await uses({ secretName: 'another' }), false);
});

test('connections and definitions that use a reference are listed together, in part', async () => {
  const { admin, made, create } = await createProject();
  const basic = {
    platformConnectionType: 'COMPONENT_BASIC',
    authProvider: 'NONE',
    authType: 'GENERIC_SECRET',
  };
  const connectionDetails = { connectionProperties: { secretName: 'orders-db' } };
  await admin.post(`${made.path}/connections`, { name: 'api', ...basic, connectionDetails });
  for (const name of ['a', 'b', 'c', 'd', 'e']) await create({ name });
  const reference = `${made.path}/secret-references/orders-db`;
  await admin.post(reference, { type: 'PASSWORD', secretName: 's' });
  const { detail } = (await admin.delete(reference)).problem;
  assert.match(detail, /used by the connection "api", the streaming pipeline "a", .*"d" and others;/);
});
