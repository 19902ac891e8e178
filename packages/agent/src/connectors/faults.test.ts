/** What goes wrong at the other end: each is bounded and said, and nothing is half loaded. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createEgress, parseEgressAllow } from '@headgate/contract/egress';
import { type Answer, startFakeApi } from '../../testing/fake-api.ts';
import { createEndpointFixture } from '../engine/endpoints/endpoint-fixture.ts';
import { createExchange } from './exchange.ts';

const bytes = { responseBytes: 1_048_576, totalBytes: 3_145_728 };
/** With so much time that a busy machine is not the fault. */
const patient = await createEndpointFixture(undefined, { bounds: bytes });
/** For servers that are too slow. */
const hasty = await createEndpointFixture(undefined, {
  bounds: { ...bytes, answerMilliseconds: 600, idleMilliseconds: 600, totalMilliseconds: 2_500 },
});
after(async () => {
  await patient.dispose();
  await hasty.dispose();
});

/** One good page comes before the fault. */
async function loadAfterOnePage(fixture: typeof patient, second: Answer): Promise<string> {
  const { api } = fixture;
  await fixture.connection.run('create or replace table loaded as select 7 as id');
  await fixture.publishProfile({ paging: { type: 'cursor', parameter: 'c', path: 'next' } });
  api.requests.length = 0;
  api.answer((request, response) =>
    request.query.has('c') ? second(request, response) : { data: [{ id: 1 }], next: 'x' },
  );
  const { status, message } = await fixture.load({}, { createTableMode: 'TRUNCATE_AND_INSERT' });
  assert.equal(status, 'FAILED');
  assert.deepEqual(await fixture.rows('select id from loaded'), [[7]]);
  return message ?? '';
}

const answerText =
  (text: string | Buffer, headers: Record<string, string> = {}): Answer =>
  (_, response) => {
    response.writeHead(200, headers).end(text);
  };

const slowness: [string, Answer, RegExp][] = [
  ['a server that hangs', () => undefined, /did not answer within 1 s/],
  [
    'a server that hangs in its answer',
    (_, response) => {
      response.writeHead(200).write('{"data": [');
    },
    /the response stopped for 1 s before its end/,
  ],
  [
    'a server that answers a byte at a time',
    (_, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write(' '), 50);
      response.once('close', () => clearInterval(drip));
    },
    /not complete after 3 s/,
  ],
];

const faults: [string, Answer, RegExp][] = [
  [
    'a server that cuts',
    (_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"data": [');
      setTimeout(() => response.destroy(), 20);
    },
    /cut before its end/,
  ],
  [
    'HTML',
    answerText('<html><body>Sign in</body></html>', { 'content-type': 'text/html' }),
    /page 2 .* is not JSON \(status 200, text\/html\); it begins with: <html><body>Sign in/,
  ],
  ['a JSON text that ends too early', answerText('{"data": [{"id": 2}'), /is not JSON/],
  [
    'JSON without end',
    (_, response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(65_536, ' ');
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', more);
      more();
    },
    /larger than 1 MiB/,
  ],
  [
    'a gzip bomb',
    answerText(gzipSync(Buffer.alloc(50 * 1_048_576, ' ')), { 'content-encoding': 'gzip' }),
    /larger than 1 MiB/,
  ],
  [
    'a compressed response without end that holds nothing',
    (_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      const empty = Buffer.concat(Array(4_000).fill(gzipSync('')));
      const more = () => {
        while (!response.destroyed && response.write(empty));
      };
      response.on('drain', more);
      more();
    },
    /larger than 1 MiB/,
  ],
  ['what is not gzip', answerText('{"data": []}', { 'content-encoding': 'gzip' }), /cannot be decompressed/],
  ['an unknown compression', answerText('x', { 'content-encoding': 'zip' }), /compressed by "zip"/],
  ['a page that points to itself', () => ({ data: [{ id: 2 }], next: 'x' }), /was already read \(x\)/],
  [
    'pages in a circle',
    ({ query }) => ({ data: [{ id: 2 }], next: query.get('c') === 'x' ? 'y' : 'x' }),
    /leads in a circle/,
  ],
  [
    'more bytes than a load may have',
    ({ query }) => ({ data: [{ id: 2, fill: 'x'.repeat(1_000_000) }], next: `${query.get('c')}x` }),
    /more than 3 MiB, which is the limit of a load/,
  ],
  [
    'more bytes than a load may have, after decompression',
    ({ query }, response) => {
      const page = JSON.stringify({
        data: [{ id: 2, fill: 'x'.repeat(1_000_000) }],
        next: `${query.get('c')}x`,
      });
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(page));
    },
    /more than 3 MiB, which is the limit of a load/,
  ],
  [
    'text that is not UTF-8',
    answerText(Buffer.from('{"data": [{"id": 2, "city": "K\xf6ln"}]}', 'latin1'), {
      'content-type': 'application/json; charset=iso-8859-1',
    }),
    /is not UTF-8 \(application\/json; charset=iso-8859-1\)/,
  ],
  ['an empty page', answerText(''), /page 2 .* is empty \(status 200\), so rows may be missing/],
  ['a number larger than a double', answerText('{"data": [{"id": 1e400}]}'), /1e400/],
  ['another structure', () => ({ error: { code: 17 } }), /the response has no "data"; it has "error"/],
  [
    'a redirect into a private range',
    (_, response) => {
      response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end();
    },
    /redirects to another server are not followed/,
  ],
  [
    'redirects without end',
    (_, response) => {
      response.writeHead(302, { location: '?c=y' }).end();
    },
    /redirects more than 5 times/,
  ],
  [
    'a refusal',
    (_, response) => {
      response.statusCode = 401;
      return { message: 'no' };
    },
    /answered 401 \(the request has no credentials: .*authType in the connection.*"no"/,
  ],
];

for (const [fixture, cases] of [
  [hasty, slowness],
  [patient, faults],
] as const)
  for (const [what, answer, says] of cases)
    test(`${what} fails the load and loads nothing`, async () =>
      assert.match(await loadAfterOnePage(fixture, answer), says));

const { api, load, publishProfile } = patient;

test('the metadata service of a cloud is never called', async () => {
  await publishProfile({ url: 'http://169.254.169.254/latest' });
  assert.match((await load()).message ?? '', /which gives out credentials/);
});

test('a safe request is sent again, another one only if nothing of it was sent or it was refused', async () => {
  const failTwice =
    (status: number): Answer =>
    (_, response) => {
      if (api.requests.length > 2) return { data: [{ id: api.requests.length }] };
      response.statusCode = status;
      return {};
    };
  for (const [httpMethod, status, count] of [
    ['GET', 503, 3],
    ['POST', 429, 3],
    ['POST', 503, 1],
  ] as const) {
    await publishProfile({ httpMethod });
    api.requests.length = 0;
    api.answer(failTwice(status));
    const { status: end } = await load();
    assert.equal(api.requests.length, count, `${httpMethod} ${status}`);
    assert.equal(end, count === 3 ? 'SUCCESS' : 'FAILED');
  }
});

test('a pause that is too long ends the load and is said', async () => {
  await publishProfile();
  api.answer((_, response) => {
    response.writeHead(429, { 'retry-after': '86400' }).end();
  });
  assert.match((await load()).message ?? '', /asks for a pause of 86400 s/);
});

test('the connection goes to the checked address, and a name that moves is refused at its next request', async (t) => {
  const answers = ['127.0.0.1', '127.0.0.1', '169.254.169.254', '10.0.0.1'];
  const egress = createEgress({
    allow: parseEgressAllow(['127.0.0.0/8', '169.254.0.0/16']),
    setting: 'HEADGATE_AGENT_EGRESS_ALLOW',
    operator: 'the operator of the agent',
    resolve: async () => [answers.shift() ?? '127.0.0.1'],
  });
  const limits = { answerMilliseconds: 60_000, idleMilliseconds: 60_000, totalMilliseconds: 60_000 };
  const exchange = createExchange(egress, { ...limits, advice: '', responseBytes: 10_000 });
  t.after(() => exchange.close());
  const moved = await startFakeApi((_, response) => {
    response.writeHead(302, { location: '/elsewhere' }).end();
  });
  t.after(() => moved.close());
  // The system does not know the name: only the checked address can be connected to.
  const url = new URL(`http://moving.example:${new URL(moved.origin).port}/`);
  const send = () => exchange.send({ method: 'GET', url, headers: [] }, new AbortController().signal);
  // A redirect is an answer: whoever follows it sends a request of its own, which is checked.
  assert.equal((await send()).status, 302);
  assert.equal((await send()).status, 302);
  await assert.rejects(send(), /moving\.example leads to what is the metadata service of a cloud/);
  await assert.rejects(
    send(),
    /moving\.example leads to an address in a private range.*HEADGATE_AGENT_EGRESS_ALLOW/,
  );
  assert.equal(moved.requests.length, 2);
});

test('a name that is not resolved in time is a failure, and a caller need not wait for it', async () => {
  const egress = createEgress({
    allow: parseEgressAllow([]),
    setting: 'HEADGATE_AGENT_EGRESS_ALLOW',
    operator: 'the operator',
    resolve: () => new Promise(() => undefined),
  });
  const bounds = {
    responseBytes: 1,
    advice: '',
    answerMilliseconds: 100,
    idleMilliseconds: 100,
    totalMilliseconds: 100,
  };
  const exchange = createExchange(egress, bounds);
  const request = { method: 'GET', url: new URL('https://api.example.com'), headers: [] };
  const never = new AbortController().signal;
  await assert.rejects(exchange.send(request, never), /was not complete after 0 s/);
  const stopped = AbortSignal.abort(new Error('the run was cancelled'));
  await assert.rejects(exchange.send(request, stopped), /the run was cancelled/);
  exchange.close();
});

test('a fault that would come again is met once, whatever `retries` says; one that may pass is tried again', async () => {
  const count = async (answer: Answer, { endpoint = {}, input = {} } = {}) => {
    await publishProfile(endpoint);
    api.requests.length = 0;
    api.answer(answer);
    patient.steps.clear();
    const { status, message } = await load(input, {}, {}, { retries: 2 });
    const tried = [...patient.steps.values()].filter(({ name }) => name === 'Load').length;
    return { status, message: message ?? '', tried, requests: api.requests.length };
  };
  const answerStatus =
    (status: number): Answer =>
    (_, response) => {
      response.writeHead(status).end();
    };
  for (const status of [400, 401, 403, 404, 410]) {
    const { message, tried, requests } = await count(answerStatus(status));
    assert.deepEqual([tried, requests], [1, 1], String(status));
    assert.match(message, /not run again: another attempt would fail in the same way/);
  }
  const never: Answer = () => undefined;
  const refused = await count(never, { endpoint: { url: 'http://10.0.0.1/rows' } });
  assert.deepEqual([refused.tried, refused.requests], [1, 0]);
  assert.match(refused.message, /private range.*not run again/s);
  // Of a name that is an expression only the run knows that it is missing.
  for (const input of [{ endpoint: `\${'Columns'}` }, { profile: `\${'other-api'}` }]) {
    const missing = await count(never, { input });
    assert.deepEqual([missing.tried, missing.requests], [1, 0]);
    assert.match(missing.message, /has no (endpoint|connector profile).*not run again/s);
  }
  for (const status of [503, 429]) {
    const { message, tried, requests } = await count(answerStatus(status));
    assert.deepEqual([tried, requests], [3, 15], String(status));
    assert.doesNotMatch(message, /not run again/);
  }
  let requests = 0;
  const passing = await count((_, response) => {
    requests += 1;
    if (requests > 6) return { data: [{ id: 1 }] };
    response.destroy();
    return undefined;
  });
  assert.deepEqual([passing.status, passing.tried], ['SUCCESS', 2], 'a reset may pass');
});
