/** Behaviour that all operations share over HTTP. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BlockingConnection,
  renderRequestHead,
  requireRawProblem,
} from '../../../testing/blocking-connection.ts';
import { type Client, createClient, requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const anonymous: Client = createClient(server.transport, '', async () => undefined);
const city = { name: 'city', type: 'TEXT', behaviour: 'SHARED', value: 'Oslo' };

async function createProject() {
  const account = await server.account();
  const { path, projectId } = await account.project();
  return { account, admin: account.admin, path, projectId, variables: `${path}/variables` };
}

test('an unknown method is 405 and lists the methods of the path', async () => {
  const { admin, path, variables } = await createProject();
  const allow = async (method: string, at: string) => {
    const answer = await admin.send(method, at);
    requireProblem(answer, 405, 'method-not-allowed');
    return answer.headers.allow;
  };
  assert.equal(await allow('DELETE', variables), 'GET, HEAD, OPTIONS, POST');
  assert.equal(await allow('PUT', `${variables}/city`), 'DELETE, GET, HEAD, OPTIONS, PATCH');
  assert.equal(await allow('PUT', path), 'DELETE, GET, HEAD, OPTIONS, PATCH');
  assert.equal(await allow('POST', `${variables}/city/environment-overrides/dev`), 'DELETE, OPTIONS');
});

test('an unknown path is 404', async () => {
  const { admin } = await createProject();
  for (const path of ['/nothing', '//projects', '/Projects', '/projects/x/y/z']) {
    requireProblem(await admin.get(path), 404, 'path-not-found');
  }
});

test('only JSON responses are available', async () => {
  const { admin, variables } = await createProject();
  const refused = [
    'text/html',
    'application/xml',
    'image/*',
    'application/json;q=0',
    'application/json;q=0, */*',
  ];
  for (const accept of refused) {
    requireProblem(await admin.get(variables, { headers: { accept } }), 406, 'not-acceptable');
  }
  for (const accept of ['*/*', 'application/json', 'text/html, application/json;q=0.5', 'application/*']) {
    assert.equal((await admin.get(variables, { headers: { accept } })).status, 200);
  }
});

test('a body of another media type is 415', async () => {
  const { admin, path, variables } = await createProject();
  const types = [
    'text/plain',
    'application/xml',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/octet-stream',
    'application/jsonp',
  ];
  for (const type of types) {
    const answer = await admin.post(variables, JSON.stringify(city), { headers: { 'content-type': type } });
    requireProblem(answer, 415, 'unsupported-media-type');
  }
  const upload = await admin.post(`${path}/artifacts`, '{}', {
    headers: { environmentName: 'dev', versionName: 'v' },
  });
  requireProblem(upload, 415, 'unsupported-media-type');
});

test('JSON is accepted with a charset and unknown headers', async () => {
  const { admin, variables } = await createProject();
  const headers = { 'content-type': 'Application/JSON; charset=utf-8', 'account-id': 'x', 'x-anything': 'y' };
  assert.equal((await admin.post(variables, JSON.stringify(city), { headers })).status, 201);
});

test('a body that is too large is 413', async () => {
  const small = await startTestServer({ config: { bodyLimitBytes: 1_000 } });
  const account = await small.account();
  const body = {
    name: 'x'.repeat(100),
    warehouse: 'DUCKDB',
    agentDeploymentType: 'HYBRID',
    description: 'x'.repeat(1_000),
  };
  requireProblem(await account.admin.post('/projects', body), 413, 'body-too-large');
});

test('a body that is not JSON is 400 with the reason', async () => {
  const { admin, variables } = await createProject();
  for (const body of ['{', '{"name": "a",}', "{'a': 1}", 'x', '\u0000', '{"a": 01}']) {
    const { detail } = requireProblem(await admin.post(variables, body), 400, 'invalid-json');
    assert.match(detail, /^The body is not valid JSON: ./);
  }
  requireProblem(await admin.post(variables, Buffer.from('{"name": "\xff"}', 'latin1')), 400, 'invalid-json');
  requireProblem(await admin.post(variables, Buffer.from([0xc0, 0x80])), 400, 'invalid-json');
});

test('a missing body is reported', async () => {
  const { admin, variables } = await createProject();
  const { violations } = requireProblem(await admin.post(variables), 400, 'invalid-request');
  assert.deepEqual(violations, ['body: is required']);
  requireProblem(await admin.post(variables, 'null'), 400, 'invalid-request');
  requireProblem(await admin.post(variables, '[]'), 400, 'invalid-request');
});

test('NUL and lone surrogates are refused in values and names', async () => {
  const { admin, path, variables } = await createProject();
  const bad = [
    { ...city, value: 'a\0b' },
    { ...city, description: '\ud800' },
    { ...city, value: '\udc00x' },
    { ...city, 'stray\0': 1 },
    { ...city, stray: { deep: [{ '\ud800': 1 }] } },
    { ...city, type: 'GRID', value: { columns: [{ name: 'a\0', type: 'TEXT' }], rows: [] } },
  ];
  for (const body of bad) {
    const { violations } = requireProblem(await admin.post(variables, body), 400, 'invalid-request');
    assert.match(violations?.[0] ?? '', /must not contain (NUL|a lone surrogate)/);
  }
  requireProblem(await admin.get(`${variables}?x=%00`), 400, 'invalid-request');
  requireProblem(await admin.get(`${path}/environments/a%00b`), 400, 'invalid-request');
  const override = { environmentName: 'dev', value: ['\0'] };
  await admin.post(variables, city);
  requireProblem(
    await admin.post(`${variables}/city/environment-overrides`, override),
    400,
    'invalid-request',
  );
});

test('excessive nesting is refused without a failure', async () => {
  const { admin, variables } = await createProject();
  const makeNested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  const body = (depth: number) =>
    `{"name":"n","type":"TEXT","behaviour":"SHARED","stray":${makeNested(depth)}}`;
  assert.equal((await admin.post(variables, body(50))).status, 201);
  for (const depth of [100, 5_000, 200_000]) {
    const answer = await admin.post(variables, body(depth));
    assert.equal(answer.status, 400, `${depth}: ${answer.text.slice(0, 500)}`);
    assert.ok(answer.text.length < 10_000);
  }
});

test('thousands of faults get a bounded list', async () => {
  const { admin, variables } = await createProject();
  await admin.post(variables, city);
  const body = Array.from({ length: 5_000 }, () => 1);
  const answer = await admin.post(`${variables}/city/environment-overrides`, body);
  const { violations } = requireProblem(answer, 400, 'invalid-request');
  assert.ok(violations !== undefined && violations.length <= 1_000);
});

test('a path that does not decode is 400', async () => {
  const { admin, variables } = await createProject();
  for (const name of ['%ff', '%', '%zz', '%c0%80']) {
    const answer = await admin.get(`${variables}/${name}`);
    assert.equal(answer.status, 400, `${name}: ${answer.text}`);
  }
});

test('members named like properties of Object.prototype are ordinary members', async () => {
  const { admin, variables } = await createProject();
  const body = '{"__proto__": {"name": "x"}, "constructor": 1, "type": "TEXT", "behaviour": "SHARED"}';
  const { violations } = requireProblem(await admin.post(variables, body), 400, 'invalid-request');
  assert.deepEqual(violations, ['body.name: is required']);
});

test('HEAD responds like GET, without a body', async () => {
  const { admin, variables } = await createProject();
  await admin.post(variables, city);
  const got = await admin.get(`${variables}/city`);
  const head = await admin.send('HEAD', `${variables}/city`);
  assert.equal(head.status, 200);
  assert.equal(head.etag, got.etag);
  assert.equal(head.headers['content-length'], String(Buffer.byteLength(got.text)));
  assert.equal(head.text, '');
  assert.equal((await admin.send('HEAD', `${variables}/town`)).status, 404);
  const page = await admin.send('HEAD', variables);
  assert.equal(page.status, 200);
});

test('each response has a new request id, whatever the caller sends', async () => {
  const { admin, variables } = await createProject();
  const headers = { 'x-request-id': 'mine', 'request-id': 'mine' };
  const [one, other] = [await admin.get(variables, { headers }), await admin.get(variables, { headers })];
  assert.match(one.headers['x-request-id'] ?? '', /^[0-9a-f-]{36}$/);
  assert.notEqual(one.headers['x-request-id'], other.headers['x-request-id']);
});

test('the type of a problem is the URL of a page that lists its codes', async () => {
  const { admin, variables } = await createProject();
  const { type, code } = requireProblem(await admin.get(`${variables}/town`), 404, 'variable-not-found');
  const page = await anonymous.get(new URL(type).pathname);
  assert.equal(page.status, 200);
  assert.ok(page.text.includes(code));
});

test('requests per minute are limited for each account', async () => {
  const limited = await startTestServer({ settings: { HEADGATE_RATE_LIMIT: '3' } });
  const [account, other] = [await limited.account(), await limited.account()];
  const left = [];
  for (let request = 0; request < 3; request += 1) {
    const answer = await account.admin.get('/projects');
    assert.equal(answer.headers['ratelimit-policy'], '"account";q=3;w=60, "caller";q=3;w=60');
    left.push(answer.headers.ratelimit?.split(', ')[0]);
  }
  assert.deepEqual(left, ['"account";r=2;t=60', '"account";r=1;t=60', '"account";r=0;t=60']);
  limited.clock.advance(20);
  const refused = await account.admin.get('/projects');
  requireProblem(refused, 429, 'rate-limited');
  assert.equal(refused.headers['retry-after'], '40');
  assert.equal(refused.headers.ratelimit, '"caller";r=0;t=40');
  assert.equal((await other.admin.get('/projects')).status, 200, 'another account has its own');
  limited.clock.advance(40);
  assert.equal((await account.admin.get('/projects')).status, 200);
});

test('refused requests count, and the agent protocol does not', async () => {
  const limited = await startTestServer({ settings: { HEADGATE_RATE_LIMIT: '2' } });
  const account = await limited.account();
  const agent = await account.agent();
  const beat = { instanceId: '01890000-0000-7000-8000-000000000000', held: [] };
  for (let call = 0; call < 5; call += 1)
    assert.equal((await agent.client.post('/heartbeats', beat)).status, 200);
  requireProblem(await account.admin.get('/projects?size=x'), 400, 'invalid-request');
  requireProblem(await account.admin.get('/projects?size=x'), 400, 'invalid-request');
  requireProblem(await account.admin.get('/projects'), 429, 'rate-limited');
});

test('over a real connection: a refused body does not become the next request', async () => {
  const { admin, variables } = await createProject();
  const connection = await BlockingConnection.open(await server.listen());
  const headers = { authorization: `Bearer ${await admin.token()}`, 'content-type': 'application/json' };
  const path = `/dpc/v1${variables}`;
  const request = Buffer.from(renderRequestHead('DELETE', `${path}/city`, headers));
  const large = Buffer.concat(Array.from({ length: 40_000 }, () => request));
  requireRawProblem(await connection.exchange('POST', path, headers, large), 413, 'body-too-large');
  assert.equal((await connection.exchange('GET', path, headers)).status, 200);
  connection.close();
});

test('an internal error returns only a trace id, and the log has the cause under it', async () => {
  const { admin, variables } = await createProject();
  await server.database.query('alter table variable rename to variable_away');
  try {
    const { detail, traceId } = requireProblem(await admin.get(variables), 500, 'internal-error');
    assert.ok(!detail.includes('variable_away') && !detail.includes('relation'));
    const lines = server.logLines
      .filter((line) => line.includes(traceId))
      .map((line) => JSON.parse(line) as { level: number });
    assert.ok(
      lines.some((line) => line.level >= 50 && JSON.stringify(line).includes('relation')),
      `the log has ${JSON.stringify(lines)}`,
    );
  } finally {
    await server.database.query('alter table variable_away rename to variable');
  }
});
