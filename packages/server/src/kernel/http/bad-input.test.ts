/** Invalid input to every operation: the response describes the fault, and nothing changes. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { type Operation, operations, type ProblemDetail } from '@headgate/contract';
import { isInTurn, testSeed } from '@headgate/contract/testing/rounds';
import { BlockingConnection, requireRawProblem } from '../../../testing/blocking-connection.ts';
import { watchChanges } from '../../../testing/changes.ts';
import { type Answer, requireProblem } from '../../../testing/client.ts';
import { examples } from '../../../testing/guards.ts';
import { createPlace, type Example, type Place } from '../../../testing/place.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const changes = await watchChanges(server.database);
const { hostname, port } = new URL(await server.listen());
const shown = operations.filter((operation) => operation.surface === 'dpc');
const place = await createPlace(await server.account());

async function makeExample(operation: Operation, at: Place): Promise<Example> {
  const example = await examples[operation.id]?.(at);
  return example ?? assert.fail(`no examples of a slice have a request for ${operation.id}`);
}

const made = new Map<string, Promise<Example>>();

/** Returns the example in the place of this file, which no refused request changes. */
function findExample(operation: Operation): Promise<Example> {
  const example = made.get(operation.id) ?? makeExample(operation, place);
  made.set(operation.id, example);
  return example;
}

/** Sends a request that must get a 4xx and change nothing. */
async function requireRefused(
  { method }: Pick<Operation, 'method'>,
  { path, ...asked }: Example,
): Promise<Answer> {
  await changes.take();
  // Errors of SCIM have no codes.
  const headers = { accept: 'application/json', ...asked.headers };
  const answer = await place.account.admin.send(method, path, { ...asked, headers });
  const what = `${method} ${path} ${JSON.stringify(asked.body)?.slice(0, 300)}: ${answer.text.slice(0, 500)}`;
  assert.ok(answer.status >= 400 && answer.status < 500, what);
  assert.deepEqual(await changes.take(), [], what);
  return answer;
}

async function requireRefusedFor(operation: Operation, example: Example, field: string): Promise<void> {
  const { violations = [] } = requireProblem(
    await requireRefused(operation, example),
    400,
    'invalid-request',
  );
  const named = violations.some((violation) => violation.startsWith(field));
  assert.ok(named, `${operation.id} names ${field}: ${violations.join('; ')}`);
}

interface MemberSchema {
  type?: string;
  anyOf?: MemberSchema[];
  minimum?: number;
  maxLength?: number;
  default?: unknown;
}

interface ObjectSchema {
  properties: Record<string, MemberSchema>;
  required?: string[];
}

const mayBeNull = ({ type, anyOf = [] }: MemberSchema): boolean => type === 'null' || anyOf.some(mayBeNull);
const mayBeNegative = ({ type, minimum }: MemberSchema) => type === 'integer' && minimum === undefined;

/** Each member of each operation whose body is an object. */
const bodies = shown.flatMap((operation) => {
  const body = operation.body as ObjectSchema | undefined;
  if (body === undefined || !('properties' in body)) return [];
  return Object.entries(body.properties).map(([name, schema]) => ({
    operation,
    name,
    required: body.required?.includes(name) === true,
    maxLength: schema.maxLength,
    isNullable: mayBeNull(schema),
  }));
});

test('every member of every body: missing, of another type, too long', async () => {
  assert.ok(bodies.length > 30);
  for (const { operation, name, required, maxLength, isNullable } of bodies) {
    const example = await findExample(operation);
    const body = example.body as Record<string, unknown>;
    const { [name]: _, ...without } = body;
    if (required)
      await requireRefusedFor(operation, { ...example, body: without }, `body.${name}: is required`);
    // No member may be a list of lists. For a POST, null stands for an omitted optional member.
    const mayLackValue = isNullable || (operation.method === 'POST' && !required);
    for (const wrong of mayLackValue ? [[[1]]] : [null, [[1]]]) {
      await requireRefusedFor(operation, { ...example, body: { ...body, [name]: wrong } }, `body.${name}`);
    }
    if (maxLength !== undefined) {
      const long = { ...body, [name]: 'x'.repeat(maxLength + 1) };
      await requireRefusedFor(operation, { ...example, body: long }, `body.${name}`);
    }
  }
});

test('every parameter of every query: of another type, out of bounds, too long', async () => {
  for (const operation of shown) {
    const query = operation.query as ObjectSchema | undefined;
    for (const [name, schema] of Object.entries(query?.properties ?? {})) {
      const example = await findExample(operation);
      const url = new URL(example.path, 'http://x');
      const wrong = schema.maxLength === undefined ? ['-1', 'x', ''] : ['x'.repeat(schema.maxLength + 1)];
      if (mayBeNegative(schema)) wrong.shift();
      for (const value of wrong) {
        url.searchParams.set(name, value);
        await requireRefusedFor(operation, { ...example, path: url.pathname + url.search }, `query.${name}`);
      }
      if (query?.required?.includes(name) && !('default' in schema)) {
        url.searchParams.delete(name);
        await requireRefusedFor(
          operation,
          { ...example, path: url.pathname + url.search },
          `query.${name}: is required`,
        );
      }
    }
  }
});

const pieces = ['%00', 'a%00b', '%ff', '%c0%80', '%ed%a0%80', '%', '%zz'];

test(`a path segment that does not decode, or decodes to NUL, at every operation (TEST_SEED=${testSeed})`, async () => {
  for (const [number, operation] of shown.filter((each) => each.path.includes('{')).entries()) {
    for (const [turn, piece] of pieces.entries()) {
      if (!isInTurn(number + turn, pieces.length, 1)) continue;
      const path = operation.path
        .replace(/^\/v1/, '')
        .replace(/\{\w+\}/, piece)
        .replaceAll(/\{\w+\}/g, 'city');
      const { body, headers = {} } = await findExample(operation);
      const { problem } = await requireRefused(operation, { path, body, headers });
      assert.ok(
        ['invalid-path', 'invalid-request'].includes(problem.code),
        `${operation.id} ${path}: ${problem.code}`,
      );
    }
  }
});

test('a duplicate member is refused, not silently dropped', async () => {
  const path = `${place.project.path}/variables`;
  const twice = [
    '{"name":"a","name":"b","type":"TEXT","behaviour":"SHARED"}',
    '{"name":"a","type":"TEXT","behaviour":"SHARED","\\u0074ype":"NUMBER"}',
    '{"name":"a","type":"TEXT","behaviour":"SHARED","stray":{"x":1,"x":2}}',
  ];
  for (const body of twice) {
    const { detail } = requireProblem(
      await requireRefused({ method: 'POST' }, { path, body }),
      400,
      'invalid-json',
    );
    assert.match(detail, /the member "(name|type|x)" occurs twice/);
  }
});

test('a body sent to an operation without one is ignored', async () => {
  const path = `${place.project.path}/variables/city/environment-overrides/prod`;
  const plain = { headers: { 'content-type': 'text/plain' }, body: 'x' };
  requireProblem(
    await requireRefused({ method: 'DELETE' }, { path, ...plain }),
    415,
    'unsupported-media-type',
  );
  requireProblem(await requireRefused({ method: 'DELETE' }, { path, body: '{' }), 400, 'invalid-json');
  requireProblem(await requireRefused({ method: 'DELETE' }, { path, body: '{}' }), 404, 'override-not-found');
});

test('an unknown path is 404 and an unknown method 405, whatever the body', async () => {
  const body = Buffer.from('{ not JSON');
  for (const type of ['application/json', 'text/plain', 'nothing/']) {
    const headers = { 'content-type': type };
    requireProblem(
      await requireRefused({ method: 'POST' }, { path: '/nowhere', headers, body }),
      404,
      'path-not-found',
    );
    const wrong = { path: `${place.project.path}/variables`, headers, body };
    requireProblem(await requireRefused({ method: 'PUT' }, wrong), 405, 'method-not-allowed');
  }
});

test('a body of 50 MB is refused without being read, and the server keeps working', async () => {
  const headers = {
    authorization: `Bearer ${await place.account.admin.token()}`,
    'content-type': 'application/json',
  };
  const connection = await BlockingConnection.open(`http://${hostname}:${port}`);
  const path = `/dpc/v1${place.project.path}/variables`;
  const answer = await connection.exchange('POST', path, headers, Buffer.alloc(50_000_000, ' '));
  requireRawProblem(answer, 413, 'body-too-large');
  connection.close();
  assert.equal((await place.account.admin.get('/projects')).status, 200);
});

test('invalid HTTP and a request with too large a head get problem responses', async () => {
  const sendRequest = async (sent: string) => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    socket.write(sent);
    await once(socket, 'close');
    const [head = '', body = ''] = text.split('\r\n\r\n');
    return { head, body };
  };
  const large = `GET /dpc/v1/projects HTTP/1.1\r\nhost: x\r\nx-long: ${'x'.repeat(20_000)}\r\n\r\n`;
  for (const [sent, status, code] of [
    ['no request at all\r\n\r\n', 400, 'malformed-request'],
    [large, 431, 'headers-too-large'],
  ] as const) {
    const { head, body } = await sendRequest(sent);
    const problem = JSON.parse(body) as ProblemDetail;
    assert.match(head, new RegExp(`^HTTP/1.1 ${status} .*application/problem\\+json`, 's'));
    assert.deepEqual([problem.status, problem.code], [status, code]);
    assert.ok(head.includes(`x-request-id: ${problem.traceId}`));
  }
  assert.equal((await sendRequest(large.replace('GET', 'HEAD'))).body, '');
});

/** The names in an example, replaced by the ids that another account uses. */
function replaceIds(
  example: Example,
  other: Place,
  theirs: { credentialId: string; executionId: string },
): Example[] {
  const own = place;
  const swap = (text: string, from: string, to: string) => text.replaceAll(from, to);
  const pairs: [RegExp | string, string][] = [
    [own.project.projectId, other.project.projectId],
    [own.agent.agentId, other.agent.agentId],
    [/(?<=\/credentials\/)[\w-]{36}/, theirs.credentialId],
    [/(?<=\/pipeline-executions\/)[\w-]{36}/, theirs.executionId],
  ];
  const isMultipart = Buffer.isBuffer(example.body);
  return pairs.flatMap(([from, to]) => {
    const replaced = (text: string) =>
      typeof from === 'string' ? swap(text, from, to) : text.replace(from, to);
    const path = replaced(example.path);
    const body =
      isMultipart || example.body === undefined
        ? example.body
        : JSON.parse(replaced(JSON.stringify(example.body)));
    const changed = path !== example.path || JSON.stringify(body) !== JSON.stringify(example.body);
    return changed ? [{ ...example, path, body }] : [];
  });
}

test('ids of another account, in every place for an id', async () => {
  const other = await createPlace(await server.account());
  const { admin } = other.account;
  const { credentialId } = (
    await admin.post<{ credentialId: string }>('/credentials', { name: 'c', role: 'MEMBER' })
  ).body;
  const start = { pipelineName: 'main', environmentName: 'dev', agentId: other.agent.agentId };
  const started = await admin.post<{ pipelineExecutionId: string }>(
    `${other.project.path}/pipeline-executions`,
    start,
  );
  const theirs = { credentialId, executionId: started.body.pipelineExecutionId };
  let tried = 0;
  for (const operation of shown) {
    for (const example of replaceIds(await makeExample(operation, place), other, theirs)) {
      const answer = await requireRefused(operation, example);
      assert.ok(
        answer.status === 404 || ['unknown-agent', 'unknown-project'].includes(answer.problem.code),
        `${operation.id}: ${answer.text}`,
      );
      tried += 1;
    }
  }
  assert.ok(tried > 35, `${tried} places were tried`);
  const inBodies: [string, object, string][] = [
    [
      '/credentials',
      { name: 'c', role: 'MEMBER', roles: [{ projectId: other.project.projectId, role: 'OWNER' }] },
      'unknown-project',
    ],
    ['/credentials', { name: 'c', role: 'OWNER', projectId: other.project.projectId }, 'unknown-project'],
    [
      `${place.project.path}/environments`,
      { name: 'uat', defaultAgentId: other.agent.agentId },
      'unknown-agent',
    ],
  ];
  for (const [path, body, code] of inBodies) {
    assert.equal((await requireRefused({ method: 'POST' }, { path, body })).problem.code, code);
  }
});
