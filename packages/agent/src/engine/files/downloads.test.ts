import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { parseEgressAllow } from '@headgate/contract/egress';
import { type FakeApi, startFakeApi } from '../../../testing/fake-api.ts';
import { createConnectors } from '../../connectors/connectors.ts';
import { createFixture, type Fixture } from '../run/engine-fixture.ts';
import { renderOrchestration, start } from '../run/pipeline-fixture.ts';

const refuse = () => Promise.reject(new Error('there is no OAuth configuration'));
let api: FakeApi;
let fixture: Fixture;

async function open(allow: string[], bounds = {}): Promise<void> {
  const { download } = createConnectors({
    controlPlane: { connectorOauth: refuse, connectorOauthProblem: refuse },
    instanceId: '00000000-0000-4000-8000-000000000001',
    vaults: { find: () => undefined },
    allow: parseEgressAllow(allow),
    bounds,
  });
  fixture = await createFixture(undefined, undefined, download);
}

beforeEach(async () => {
  api = await startFakeApi();
  await open(['127.0.0.0/8']);
});
afterEach(async () => {
  const left = readdirSync(fixture.filesFolder);
  fixture.dispose();
  await api.close();
  assert.deepEqual(left, [], 'nothing of a download is left, however it ended');
});

async function load(source: string, fileType = 'CSV') {
  await fixture.publish({
    'p.orch.yaml': renderOrchestration({
      Start: start('Load'),
      Load: { type: 'file-load', parameters: { source, fileType, targetTable: 't' } },
    }),
  });
  const outcome = await fixture.run('p');
  return { status: outcome.status, message: outcome.message ?? '' };
}

const reply = (
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: string | Buffer = '',
) => void response.writeHead(status, headers).end(body);

describe('file-load from an address', () => {
  it('loads CSV, and sends nothing but the request', async () => {
    api.answer((_, response) => reply(response, 200, {}, 'id,name\n1,a\n2,b\n'));
    assert.deepEqual(await load(`${api.origin}/data/orders.csv?year=2026`), {
      status: 'SUCCESS',
      message: '',
    });
    assert.deepEqual(await fixture.rows('select * from t order by id'), [
      [1, 'a'],
      [2, 'b'],
    ]);
    const [request] = api.requests;
    assert.equal(request?.url, '/data/orders.csv?year=2026');
    assert.equal(request?.headers.authorization, undefined);
  });

  it('loads JSON that is compressed on the way', async () => {
    api.answer((_, response) =>
      reply(response, 200, { 'content-encoding': 'gzip' }, gzipSync('[{"a": 1}, {"a": 2}]')),
    );
    assert.equal((await load(`${api.origin}/rows`, 'JSON')).status, 'SUCCESS');
    assert.deepEqual(await fixture.rows('select sum(a)::integer from t'), [[3]]);
  });

  it('follows redirects, and judges each address', async () => {
    api.answer(({ path }, response) => {
      if (path === '/first') return reply(response, 302, { location: '/second' });
      if (path === '/metadata') return reply(response, 302, { location: 'http://169.254.169.254/latest' });
      if (path === '/loop') return reply(response, 307, { location: '/loop' });
      if (path === '/user') return reply(response, 302, { location: `http://a:b@127.0.0.1:1/` });
      if (path === '/file') return reply(response, 302, { location: 'file:///etc/passwd' });
      return reply(response, 200, {}, 'a\n1\n');
    });
    assert.equal((await load(`${api.origin}/first`)).status, 'SUCCESS');
    for (const [path, reason] of [
      ['metadata', /metadata/],
      ['loop', /redirected more than 5 times/],
      ['user', /must not have a user or a password/],
      ['file', /not an address of http/],
    ] as const) {
      const { status, message } = await load(`${api.origin}/${path}`);
      assert.equal(status, 'FAILED');
      assert.match(message, reason);
    }
  });

  it('keeps the table if the file does not arrive whole, and says why', async () => {
    api.answer((_, response) => reply(response, 200, {}, 'a\n7\n'));
    await load(`${api.origin}/good.csv`);
    for (const [answer, reason] of [
      [
        (response: ServerResponse) => reply(response, 404, {}, 'none'),
        /answered 404, and not 200 with a file/,
      ],
      [(response: ServerResponse) => reply(response, 204, {}), /answered 204/],
      [
        (response: ServerResponse) => {
          response.writeHead(200, { 'content-length': '100' });
          response.write('a\n1\n', () => response.destroy());
        },
        /cut before its end/,
      ],
      [(response: ServerResponse) => reply(response, 200, {}, ''), /it is empty/],
    ] as const) {
      api.answer((_, response) => answer(response));
      const { status, message } = await load(`${api.origin}/orders.csv?signature=abc`);
      assert.equal(status, 'FAILED');
      assert.match(message, reason);
      assert.match(message, /orders\.csv/);
      assert.doesNotMatch(message, /signature/);
      assert.deepEqual(await fixture.rows('select * from t'), [[7]]);
    }
  });

  it('is bounded, also after decompression', async () => {
    fixture.dispose();
    await open(['127.0.0.0/8'], { totalBytes: 1_048_576 });
    api.answer((_, response) =>
      reply(response, 200, { 'content-encoding': 'gzip' }, gzipSync('a\n'.repeat(1_000_000))),
    );
    const { message } = await load(`${api.origin}/bomb`);
    assert.match(message, /larger than 1 MiB, which is the limit of a file: split it into smaller files/);
  });

  it('unpacks gzip and zstd, and says what it cannot unpack', async () => {
    for (const pack of [gzipSync, zstdCompressSync]) {
      api.answer((_, response) => reply(response, 200, {}, pack('a\n1\n2\n')));
      assert.deepEqual(await load(`${api.origin}/a.csv.gz`), { status: 'SUCCESS', message: '' });
      assert.deepEqual(await fixture.rows('select count(*) from t'), [[2]]);
    }
    for (const [body, reason] of [
      [
        gzipSync('a\n1\n').subarray(0, 15),
        /a\.csv\.gz was not loaded: it cannot be unpacked \(Z_BUF_ERROR\)/,
      ],
      [Buffer.from('PK\x03\x04'), /it is a zip archive/],
      [Buffer.from('BZh9'), /compressed by bzip2, which is not supported/],
      [gzipSync(Buffer.alloc(70 * 1_048_576), { level: 9 }), /grows to more than 500 times/],
    ] as const) {
      api.answer((_, response) => reply(response, 200, {}, body));
      assert.match((await load(`${api.origin}/a.csv.gz`)).message, reason);
    }
  });

  it('refuses addresses that are not public or have credentials', async () => {
    const { message } = await load(`http://user:s3cr3t@127.0.0.1/a.csv`);
    assert.match(message, /must not have a user/);
    assert.doesNotMatch(message, /s3cr3t/);
    assert.match((await load('http://169.254.169.254/latest/meta-data')).message, /metadata/);
    fixture.dispose();
    await open([]);
    assert.match((await load(`${api.origin}/a.csv`)).message, /HEADGATE_AGENT_EGRESS_ALLOW/);
    assert.deepEqual(api.requests, []);
  });
});
