/**
 * Every refusal of every operation before the body is read: the client gets the problem, and the connection
 * stays open.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, describe, test } from 'node:test';
import { type Operation, operations, type ProblemCode, problems } from '@headgate/contract';
import {
  BlockingConnection,
  encodeChunked,
  renderRequestHead,
  requireRawProblem,
} from '../../../testing/blocking-connection.ts';
import { makeCertificate } from '../../../testing/certificate.ts';
import { startFakeS3 } from '../../../testing/fake-s3.ts';
import { buildMultipart, multipartBoundary } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { renderRoutePath } from '../../kernel/endpoint/endpoint.ts';
import { createApp } from '../app.ts';

const mebibyte = 1_048_576;
/** Below the time limit of a drain. */
const withinMilliseconds = 25_000;
const s3 = await startFakeS3();
after(() => s3.close());
const settings = {
  HEADGATE_BODY_LIMIT_MB: '1',
  HEADGATE_UPLOAD_MB: '8',
  HEADGATE_UPLOAD_PARTS: '20',
  HEADGATE_BLOB_STORE: 's3',
  HEADGATE_BLOB_BUCKET: s3.bucket,
  HEADGATE_BLOB_REGION: s3.region,
  HEADGATE_BLOB_ENDPOINT: s3.endpoint,
  HEADGATE_BLOB_PATH_STYLE: 'on',
  HEADGATE_BLOB_ACCESS_KEY_ID: s3.accessKeyId,
  HEADGATE_BLOB_SECRET_ACCESS_KEY: s3.secretAccessKey,
};
const server = await startTestServer({ settings });
const address = await server.listen();
const account = await server.account();
const project = await account.project();
const authorization = `Bearer ${await account.admin.token()}`;
const agentAuthorization = `Bearer ${await server.deps.tokens.issue(
  { accountId: account.accountId, actorId: (await account.agent()).agentId, clientId: 'any' },
  'agent',
)}`;

/**
 * More than the limit and the buffers of a connection together, so that a server that stops reading is
 * noticed.
 */
const large = Buffer.alloc(7 * mebibyte, ' ');

/** More than the limit. A server that does not read it does not answer the next request on the connection. */
const small = Buffer.alloc(mebibyte + 65_536, ' ');
/** Within the limit, and more than a server reads at once: where another reason to refuse is enough. */
const medium = Buffer.alloc(262_144, ' ');

interface Sent {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: Buffer;
}

/** Errors of SCIM have no codes. */
const acceptJson = { accept: 'application/json' };

/** Checks that the client gets the refusal, and that the next request on the connection works. */
async function requireRefusal(
  connection: BlockingConnection,
  { method, path, headers = {}, body = large }: Sent,
  code: ProblemCode,
): Promise<void> {
  const what = `${method} ${path}: ${code}`;
  try {
    const sent = { ...acceptJson, ...headers };
    requireRawProblem(await connection.exchange(method, path, sent, body), problems[code].status, code);
    assert.equal((await connection.exchange('GET', '/livez', {})).status, 200);
  } catch (failure) {
    throw new Error(what, { cause: failure });
  }
}

const pathOf = (operation: Operation) =>
  renderRoutePath(operation).replace(':projectId', project.projectId).replaceAll(/:\w+/g, 'any');
const json = { 'content-type': 'application/json' };
const form = { 'content-type': `multipart/form-data; boundary=${multipartBoundary}` };

/** The refusals that are common to all operations, with a body that is too large. */
function refusalsOf(operation: Operation, tooLarge: Buffer): [ProblemCode, Sent][] {
  const own = operation.surface === 'agent' ? agentAuthorization : authorization;
  const to = { method: operation.method, path: pathOf(operation), body: tooLarge === large ? large : medium };
  const wrong: [ProblemCode, Sent][] = [
    ['method-not-allowed', { ...to, method: 'TRACE' }],
    ['path-not-found', { ...to, path: `${to.path}/no/where` }],
  ];
  if (operation.method === 'GET') return [...wrong, ['token-required', { ...to, headers: json }]];
  const text = { authorization: own, 'content-type': 'text/plain' };
  wrong.push(['unsupported-media-type', { ...to, headers: text }]);
  if (operation.mediaType === 'multipart/form-data') return [...wrong, ...refusalsOfForm(to)];
  const headers = { authorization: own, ...json };
  wrong.push(
    ['body-too-large', { ...to, headers, body: tooLarge }],
    ['token-required', { ...to, headers: json }],
    [
      'body-too-large',
      { ...to, headers: { ...headers, 'transfer-encoding': 'chunked' }, body: encodeChunked(tooLarge) },
    ],
  );
  if (operation.body === undefined) return wrong;
  return [
    ...wrong,
    ['unsupported-content-encoding', { ...to, headers: { ...json, 'content-encoding': 'zstd' } }],
  ];
}

function refusalsOfForm(to: Sent): [ProblemCode, Sent][] {
  const headers = {
    authorization,
    ...form,
    environmentName: 'dev',
    sharedPipelineIdPrefix: 'p',
    versionName: 'v',
  };
  const part = (name: string, bytes = mebibyte) => ({ name, content: Buffer.alloc(bytes, 'x') });
  const parts = (count: number) => Array.from({ length: count }, (_, index) => part(`f${index}`));
  const { versionName: _, ...unnamed } = headers;
  const { authorization: __, ...anonymous } = headers;
  const many = Array.from({ length: 200 }, (_, index) => part(`f${index}`, mebibyte / 20));
  return [
    ['token-required', { ...to, headers: anonymous }],
    ['token-invalid', { ...to, headers: { ...headers, authorization: 'Bearer nonsense' } }],
    ['not-acceptable', { ...to, headers: { ...headers, accept: 'text/html' } }],
    ['invalid-request', { ...to, headers: unnamed }],
    [
      'invalid-request',
      { ...to, headers: { ...headers, environmentName: '-', sharedPipelineIdPrefix: '/' } },
    ],
    ['unsupported-content-encoding', { ...to, headers: { ...headers, 'content-encoding': 'zstd' } }],
    ['invalid-content-encoding', { ...to, headers: { ...headers, 'content-encoding': 'gzip' } }],
    ['unsupported-media-type', { ...to, headers: { ...headers, 'content-type': 'multipart/form-data' } }],
    ['invalid-upload', { ...to, headers }],
    [
      'invalid-asset-name',
      { ...to, headers, body: buildMultipart([part('a'), part('../b', 10), ...parts(5)]) },
    ],
    ['body-too-large', { ...to, headers, body: buildMultipart([part('a', 6 * mebibyte), ...parts(2)]) }],
    ['body-too-large', { ...to, headers, body: buildMultipart(many) }],
    ['body-too-large', { ...to, headers, body: buildMultipart(parts(15)) }],
  ];
}

test('every operation: the client gets a refusal before the body is read, and the connection stays open', async () => {
  const connection = await BlockingConnection.open(address);
  let count = 0;
  const kinds = new Set<string>();
  for (const operation of operations) {
    // The large body for one operation of each kind: to send it is most of the time.
    const kind = `${operation.surface} ${operation.method} ${operation.mediaType} ${operation.body !== undefined}`;
    const body = kinds.has(kind) ? small : large;
    kinds.add(kind);
    for (const [code, sent] of refusalsOf(operation, body)) {
      await requireRefusal(connection, sent, code);
      count += 1;
    }
  }
  connection.close();
  assert.ok(count > operations.length * 3, `${count} refusals`);
});

const uploads = operations.filter(({ mediaType }) => mediaType === 'multipart/form-data');
const uploadHeaders = {
  authorization,
  ...form,
  environmentName: 'dev',
  sharedPipelineIdPrefix: 'p',
  versionName: 'v',
};

test('an upload without permission, or to an unknown project', async () => {
  const reader = await account.actor('MEMBER', { projectId: project.projectId, role: 'VIEWER' });
  const headers = { ...uploadHeaders, authorization: `Bearer ${await reader.token()}` };
  const connection = await BlockingConnection.open(address);
  for (const operation of uploads) {
    const to = { method: operation.method, path: pathOf(operation) };
    await requireRefusal(connection, { ...to, headers }, 'forbidden');
  }
  const path = `/dpc/v1/projects/${server.deps.newId()}/artifacts`;
  await requireRefusal(connection, { method: 'POST', path, headers: uploadHeaders }, 'project-not-found');
  connection.close();
});

test('an upload while the storage does not respond', async () => {
  s3.behave((method) => (method === 'PUT' ? 'full' : 'serve'));
  const connection = await BlockingConnection.open(address);
  const parts = Array.from({ length: 7 }, (_, index) => ({
    name: `f${index}`,
    content: `${index}`.repeat(mebibyte),
  }));
  for (const operation of uploads) {
    const to = { method: operation.method, path: pathOf(operation) };
    await requireRefusal(
      connection,
      { ...to, headers: uploadHeaders, body: buildMultipart(parts) },
      'storage-full',
    );
  }
  s3.behave(() => 'serve');
  connection.close();
});

test('requests above the rate limit', async () => {
  const limited = await startTestServer({
    database: server.database,
    settings: { HEADGATE_RATE_LIMIT: '1' },
  });
  const connection = await BlockingConnection.open(await limited.listen());
  const counted = await connection.exchange('GET', '/dpc/v1/projects', { authorization });
  assert.equal(counted.status, 200);
  for (const operation of uploads) {
    const sent = { method: operation.method, path: pathOf(operation), headers: uploadHeaders };
    await requireRefusal(connection, sent, 'rate-limited');
  }
  connection.close();
});

test('every operation of a stopping server', async (t) => {
  const app = createApp({ ...server.deps, stopping: AbortSignal.abort() });
  t.after(() => app.close());
  const stopping = await app.listen({ host: '127.0.0.1', port: 0 });
  for (const operation of operations.filter(({ surface }) => surface === 'dpc')) {
    const connection = await BlockingConnection.open(stopping);
    const body = operation.mediaType === 'multipart/form-data' ? large : small;
    const headers = { ...uploadHeaders, ...acceptJson };
    const answer = await connection.exchange(operation.method, pathOf(operation), headers, body);
    requireRawProblem(answer, 503, 'shutting-down');
    await connection.ended(withinMilliseconds);
    connection.close();
  }
});

test('the token endpoint', async () => {
  const connection = await BlockingConnection.open(address);
  const to = { method: 'POST', path: '/oauth/dpc/token' };
  const urlencoded = { 'content-type': 'application/x-www-form-urlencoded' };
  await requireRefusal(connection, { ...to, headers: urlencoded }, 'body-too-large');
  await requireRefusal(
    connection,
    { ...to, headers: { ...urlencoded, 'transfer-encoding': 'chunked' }, body: encodeChunked(large) },
    'body-too-large',
  );
  // RFC 6749 §5.2, instead of a problem.
  const answer = await connection.exchange(to.method, to.path, { 'content-type': 'text/plain' }, large);
  assert.equal(answer.status, 400);
  assert.equal((await connection.exchange('GET', '/livez', {})).status, 200);
  connection.close();
});

test('a success that did not read the body', async () => {
  const connection = await BlockingConnection.open(address);
  for (let time = 0; time < 2; time++) {
    const answer = await connection.exchange('GET', '/dpc/v1/projects', { authorization, ...json }, large);
    assert.equal(answer.status, 200);
  }
  connection.close();
});

test('a client that asks for the connection to be closed gets the response, then the end', async () => {
  const connection = await BlockingConnection.open(address);
  const answer = await connection.exchange('POST', '/nowhere', { connection: 'close' }, large);
  requireRawProblem(answer, 404, 'path-not-found');
  assert.match(answer.head, /^connection: close$/im);
  await connection.ended(withinMilliseconds);
  connection.close();
});

test('unparsable bytes after the response end the connection without a second response', async () => {
  const connection = await BlockingConnection.open(address);
  await connection.write(renderRequestHead('POST', '/nowhere', { 'transfer-encoding': 'chunked' }));
  requireRawProblem(await connection.answer(), 404, 'path-not-found');
  await connection.write('not the size of a chunk\r\n');
  await assert.rejects(connection.answer(), /ended before the answer/);
});

/** Everything that the server sends until it closes the connection. */
async function allAnswers(bytes: string): Promise<string[]> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  socket.on('error', () => undefined);
  socket.write(bytes);
  await once(socket, 'close', { signal: AbortSignal.timeout(withinMilliseconds) });
  return [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = '']) => status);
}

const chunkedHead = { 'transfer-encoding': 'chunked' };
const projects = renderRequestHead('GET', '/dpc/v1/projects', { authorization });
for (const [what, bytes, expected] of [
  [
    'a chunk with an extension that cannot be parsed',
    `${renderRequestHead('POST', '/nowhere', chunkedHead)}5;\x01\r\nhello\r\n0\r\n\r\n`,
    ['404'],
  ],
  [
    'a chunk whose size is no number',
    `${renderRequestHead('POST', '/nowhere', chunkedHead)}nothing\r\nhello\r\n`,
    ['404'],
  ],
  [
    'a coding that is not known',
    renderRequestHead('GET', '/livez', { 'transfer-encoding': 'xchunked' }),
    ['200'],
  ],
  ['a bad chunk of a GET', `${renderRequestHead('GET', '/livez', chunkedHead)}nothing\r\n`, ['200']],
  [
    'no request after one that was answered',
    `${renderRequestHead('GET', '/livez', {})}nonsense\r\n\r\n`,
    ['200', '400'],
  ],
  [
    'no request after two, of which the first waits for its answer',
    `${projects}${renderRequestHead('GET', '/livez', {})}nonsense\r\n\r\n`,
    ['200', '200'],
  ],
  ['no request after one that waits for its answer', `${projects}nonsense\r\n\r\n`, ['200']],
  [
    'a bad chunk of a request that is not answered',
    `${renderRequestHead('POST', '/dpc/v1/projects', { authorization, ...json, ...chunkedHead })}nothing\r\n`,
    ['400'],
  ],
] as const)
  test(`in one packet, ${what}: one response for each request, then the end`, async () => {
    assert.deepEqual(await allAnswers(bytes), expected);
  });

test('unparsable bytes while a body is discarded end the connection at once', async () => {
  const connection = await BlockingConnection.open(address);
  await connection.write(renderRequestHead('POST', '/nowhere', chunkedHead));
  requireRawProblem(await connection.answer(), 404, 'path-not-found');
  await connection.write('5\r\nhello\r\n');
  await connection.write('not the size of a chunk\r\n');
  await connection.ended(withinMilliseconds);
});

describe('over TLS', async () => {
  const { cert, key } = makeCertificate();
  const secured = await startTestServer({
    database: server.database,
    certificate: { cert, key, expiresAt: new Date() },
  });
  const url = (await secured.listen()).replace('http:', 'https:');

  test('the connection stays open', async () => {
    const connection = await BlockingConnection.open(url, cert);
    for (const operation of uploads) {
      const to = { method: operation.method, path: pathOf(operation) };
      await requireRefusal(connection, { ...to, headers: form }, 'token-required');
    }
    connection.close();
  });

  test('or ends after the response if the client asks for that', async () => {
    const connection = await BlockingConnection.open(url, cert);
    const answer = await connection.exchange('POST', '/nowhere', { connection: 'close' }, large);
    requireRawProblem(answer, 404, 'path-not-found');
    await connection.ended(withinMilliseconds);
    connection.close();
  });
});
