/** A secret goes only to the server of the endpoint, whatever a response names. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type FakeApi, startFakeApi } from '../../testing/fake-api.ts';
import { createEndpointFixture } from '../engine/endpoints/endpoint-fixture.ts';

const fixture = await createEndpointFixture();
const stranger: FakeApi = await startFakeApi(() => ({ data: [{ id: 2 }] }));
after(async () => {
  fixture.dispose();
  await stranger.close();
});
const { api } = fixture;
fixture.secrets.set('token', 'correct-token');

const own = new URL(api.origin);
const foreign = new URL(stranger.origin);
const connection = { connectionRef: { overrides: { token: 'token' } } };

/** Addresses that lead to the other server, or look as if they led to the own one. */
const addresses = [
  stranger.origin,
  `//${foreign.host}/`,
  `\\\\${foreign.host}\\`,
  `http:\\\\${foreign.host}\\rows`,
  `http://${own.host}@${foreign.host}/`,
  `http://${own.host}%40${foreign.host}/`,
  `http://user:word@${foreign.host}/`,
  `http://[::ffff:127.0.0.1]:${foreign.port}/`,
  `http://127.1:${foreign.port}/`,
  `http://0x7f000001:${foreign.port}/`,
  `http://localhost:${own.port}/`,
  `http://localhost.:${own.port}/`,
  `https://${own.host}/`,
  `ftp://${own.host}/`,
  'file:///etc/passwd',
  'http://169.254.169.254/latest/meta-data/',
];

async function loadFrom(answer: Parameters<FakeApi['answer']>[0], endpoint: object): Promise<string> {
  await fixture.publishProfile({ auth: 'BEARER', ...endpoint });
  stranger.requests.length = 0;
  api.requests.length = 0;
  api.answer(answer);
  const { status, message = '' } = await fixture.load(connection);
  assert.equal(status, 'FAILED');
  assert.deepEqual(stranger.requests, []);
  assert.ok(!message.includes('correct-token'), message);
  return message;
}

for (const address of addresses)
  test(`${JSON.stringify(address).replaceAll(/\d{4,5}/g, 'PORT')} gets no request`, async () => {
    const page = (next: string) => ({ data: [{ id: 1 }], next });
    const isFirst = () => api.requests.length === 1;
    await loadFrom(() => (isFirst() ? page(address) : { data: [] }), {
      paging: { type: 'next-url', path: 'next' },
    });
    const link = { paging: { type: 'link-header' } };
    await loadFrom((_, response) => {
      if (isFirst()) response.setHeader('link', `<${address}>; rel="next"`);
      return { data: [{ id: 1 }] };
    }, link);
    for (const status of [302, 307, 308])
      await loadFrom((_, response) => void response.writeHead(status, { location: address }).end(), {});
    assert.equal(api.requests.length, 1);
  });

test('a body is not sent again after a redirect, not even by the same server', async () => {
  const endpoint = { httpMethod: 'POST', body: '{"word": "correct-body"}' };
  for (const location of ['/other', stranger.origin])
    for (const status of [301, 307, 308]) {
      const message = await loadFrom(
        (_, response) => void response.writeHead(status, { location }).end(),
        endpoint,
      );
      assert.match(message, /redirects a POST to .*: write this address into the profile/);
      assert.equal(api.requests.length, 1);
    }
});
