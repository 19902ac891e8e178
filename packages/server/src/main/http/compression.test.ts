/** Compressed responses, and compressed request bodies. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { brotliCompress, brotliDecompressSync, constants, deflate, gunzipSync, gzip } from 'node:zlib';
import { createClient, requireProblem } from '../../../testing/client.ts';
import { buildMultipart, multipartBoundary, smallPipeline } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({ config: { bodyLimitBytes: 200_000 } });
const listening = server.listen();
const mebibyte = 1_048_576;
const large = { name: 'large', type: 'TEXT', behaviour: 'SHARED', value: 'text '.repeat(4_000) };
const small = { name: 'small', type: 'TEXT', behaviour: 'SHARED', value: 'text' };
const encoders = {
  gzip: promisify(gzip),
  deflate: promisify(deflate),
  // The default of 11 takes seconds for a bomb.
  br: (bytes: Buffer) =>
    promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
};

async function project() {
  const account = await server.account();
  const { path } = await account.project();
  const variables = `${path}/variables`;
  for (const body of [large, small]) await account.admin.post(variables, body);
  return { account, admin: account.admin, path, variables, token: await account.admin.token() };
}

/** The raw response, without the decoding of `fetch`. */
async function raw(path: string, token: string | undefined, headers: Record<string, string>, method = 'GET') {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const url = new URL(path, await listening);
  return new Promise<{ headers: Record<string, unknown>; bytes: Buffer }>((resolve, reject) => {
    const sent = request(url, { method, headers: { ...authorization, ...headers } }, async (answer) =>
      resolve({ headers: answer.headers, bytes: Buffer.concat(await answer.toArray()) }),
    );
    sent.on('error', reject).end();
  });
}

test('a large response is compressed if the client accepts it, with the same content', async () => {
  const { variables, token } = await project();
  const path = `/dpc/v1${variables}/large`;
  const plain = await raw(path, token, {});
  for (const [encoding, decoded] of [
    ['gzip', gunzipSync],
    ['br', brotliDecompressSync],
  ] as const) {
    const { headers, bytes } = await raw(path, token, { 'accept-encoding': encoding });
    assert.equal(headers['content-encoding'], encoding);
    assert.equal(headers['content-length'], String(bytes.length));
    assert.ok(bytes.length < plain.bytes.length / 10);
    assert.ok(decoded(bytes).equals(plain.bytes));
    const head = await raw(path, token, { 'accept-encoding': encoding }, 'HEAD');
    for (const name of ['content-encoding', 'content-length', 'etag'])
      assert.equal(head.headers[name], headers[name]);
    assert.equal(head.bytes.length, 0);
  }
  assert.equal(plain.headers['content-encoding'], undefined);
  assert.equal(plain.headers.vary, 'Accept-Encoding');
});

test('a compressed response has its own entity tag, which If-Match treats as the same state', async () => {
  const { admin, variables, token } = await project();
  const path = `/dpc/v1${variables}/large`;
  const tagOf = async (accept: string) =>
    String((await raw(path, token, { 'accept-encoding': accept })).headers.etag);
  const tags = [await tagOf('identity'), await tagOf('gzip'), await tagOf('br')];
  assert.equal(new Set(tags).size, 3);
  for (const tag of tags) assert.match(tag, /^"[^"]+"$/, 'strong');
  const change = { type: 'TEXT', behaviour: 'SHARED', description: 'changed' };
  const patch = (tag = '') => admin.patch(`${variables}/large`, change, { headers: { 'if-match': tag } });
  assert.equal((await patch(tags[1])).status, 200);
  for (const old of tags) requireProblem(await patch(old), 412, 'etag-mismatch');
});

test('a small response, or one to a client that accepts no compression, is not compressed', async () => {
  const { variables, token } = await project();
  const answers = [
    await raw(`/dpc/v1${variables}/small`, token, { 'accept-encoding': 'gzip, br' }),
    await raw(`/dpc/v1${variables}/large`, token, { 'accept-encoding': 'identity' }),
    await raw(`/dpc/v1${variables}/large`, token, { 'accept-encoding': 'gzip;q=0' }),
  ];
  for (const { headers, bytes } of answers) {
    assert.equal(headers['content-encoding'], undefined);
    assert.doesNotThrow(() => JSON.parse(bytes.toString()));
  }
  assert.equal(answers[0]?.headers.vary, undefined);
});

test('the OpenAPI document is compressed', async () => {
  const { headers, bytes } = await raw('/openapi.json', undefined, { 'accept-encoding': 'gzip' });
  assert.equal(headers['content-encoding'], 'gzip');
  assert.doesNotThrow(() => JSON.parse(gunzipSync(bytes).toString()));
});

for (const [encoding, encode] of Object.entries(encoders)) {
  test(`a body in ${encoding} is decoded`, async () => {
    const { admin, path, variables } = await project();
    const body = await encode(Buffer.from(JSON.stringify({ ...small, name: 'compressed' })));
    const headers = { 'content-encoding': encoding, 'idempotency-key': 'one' };
    assert.equal((await admin.post(variables, body, { headers })).status, 201);
    // The same content with the same key, in another encoding.
    const plain = { ...small, name: 'compressed' };
    const again = await admin.post(variables, plain, { headers: { 'idempotency-key': 'one' } });
    assert.equal(again.headers['idempotency-replayed'], 'true');

    const form = await encode(buildMultipart([{ name: 'main.orch.yaml', content: smallPipeline }]));
    const uploaded = await admin.post(`${path}/artifacts`, form, {
      headers: {
        'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
        'content-encoding': encoding,
        environmentName: 'dev',
        versionName: encoding,
      },
    });
    assert.equal(uploaded.status, 201);
  });

  test(`a bomb in ${encoding} gets 413 and changes nothing`, async () => {
    const { admin, path, variables } = await project();
    const bomb = await encode(Buffer.alloc(64 * mebibyte, ' '));
    assert.ok(bomb.length < 100_000, 'the bomb itself is within the limit');
    const headers = { 'content-encoding': encoding };
    requireProblem(await admin.post(variables, bomb, { headers }), 413, 'body-too-large');
    const form = await encode(buildMultipart([{ name: 'a.txt', content: Buffer.alloc(64 * mebibyte, ' ') }]));
    const uploaded = await admin.post(`${path}/artifacts`, form, {
      headers: {
        ...headers,
        'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
        environmentName: 'dev',
        versionName: encoding,
      },
    });
    requireProblem(uploaded, 413, 'body-too-large');
    const { body } = await admin.get<{ total: number }>(`${path}/artifacts?environmentName=dev`);
    assert.equal(body.total, 0);
  });

  test(`an invalid or truncated body in ${encoding} gets 400`, async () => {
    const { admin, path, variables } = await project();
    const whole = await encode(Buffer.from(JSON.stringify({ ...small, name: 'broken' })));
    const headers = { 'content-encoding': encoding };
    for (const body of [JSON.stringify(small), whole.subarray(0, -6)])
      requireProblem(await admin.post(variables, body, { headers }), 400, 'invalid-content-encoding');
    const form = await encode(buildMultipart([{ name: 'main.orch.yaml', content: smallPipeline }]));
    const uploaded = await admin.post(`${path}/artifacts`, form.subarray(0, -6), {
      headers: {
        ...headers,
        'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
        environmentName: 'dev',
        versionName: encoding,
      },
    });
    requireProblem(uploaded, 400, 'invalid-content-encoding');
  });
}

test('an unknown encoding gets 415 with the known ones', async () => {
  const { admin, path, variables } = await project();
  for (const encoding of ['zstd', 'compress', 'gzip, br', '*']) {
    const headers = { 'content-encoding': encoding };
    const answer = await admin.post(variables, small, { headers });
    requireProblem(answer, 415, 'unsupported-content-encoding');
    assert.equal(answer.headers['accept-encoding'], 'gzip, deflate, br');
    const form = { ...headers, 'content-type': `multipart/form-data; boundary=${multipartBoundary}` };
    const uploaded = await admin.post(`${path}/artifacts`, 'x', {
      headers: { ...form, environmentName: 'dev', versionName: 'v' },
    });
    requireProblem(uploaded, 415, 'unsupported-content-encoding');
  }
  const other = { ...small, name: 'plain' };
  assert.equal(
    (await admin.post(variables, other, { headers: { 'content-encoding': 'identity' } })).status,
    201,
  );
});

test('the token endpoint accepts a compressed form', async () => {
  const { admin } = await server.account();
  const form = {
    grant_type: 'client_credentials',
    client_id: admin.clientId,
    client_secret: admin.secret.reveal(),
  };
  const body = await encoders.gzip(Buffer.from(new URLSearchParams(form).toString()));
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-encoding': 'gzip' };
  const anonymous = createClient(server.transport, '', async () => undefined);
  assert.equal((await anonymous.post('/oauth/dpc/token', body, { headers })).status, 200);
});
