import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createEgress, parseEgressAllow } from '@headgate/contract/egress';
import { startFakeApi } from '../../testing/fake-api.ts';
import { type FakeAzure, startFakeAzure } from '../../testing/fake-azure.ts';
import { createExchange } from '../connectors/exchange.ts';
import { createAzureStore } from './azure-store.ts';
import { createAzureTokens } from './azure-token.ts';
import type { ObjectStore, StoredObject } from './object-store.ts';
import { readObject } from './read-object.ts';

const never = new AbortController().signal;
const time = { sleep: async () => undefined, random: () => 0, date: () => new Date() };
let azure: FakeAzure;

const exchange = createExchange(
  createEgress({ allow: parseEgressAllow(['127.0.0.0/8']), setting: 'S', operator: 'the operator' }),
  {
    ...{ responseBytes: 2 ** 30, advice: '', answerMilliseconds: 2_000 },
    ...{ idleMilliseconds: 2_000, totalMilliseconds: 20_000 },
  },
);

function open(credentials: Readonly<Record<string, string>> | undefined): ObjectStore {
  const { account, container, endpoint } = azure;
  const address = { kind: 'azure', account, container, endpoint, credentials: { from: 'nobody' } } as const;
  return createAzureStore({ address, credentials, exchange, time });
}

beforeEach(async () => {
  azure = await startFakeAzure();
});
afterEach(async () => {
  exchange.close();
  await azure.close();
});

async function listAll(store: ObjectStore, prefix = ''): Promise<StoredObject[]> {
  const found: StoredObject[] = [];
  for await (const page of store.list(prefix, never)) found.push(...page);
  return found;
}

async function* whole(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

describe('the Azure adapter', () => {
  it('lists, reads, writes, copies and removes by an account key', async () => {
    const store = open({ accountKey: azure.accountKey });
    const keys = ['a b+c.csv', 'x/&<>?#%.csv', 'ä/日本/🙂.csv'];
    for (const key of keys) await store.write(key, whole(Buffer.from(key)), never);
    azure.pageSize = 2;
    assert.deepEqual((await listAll(store)).map(({ key }) => key).sort(), keys.toSorted());
    const [object] = await listAll(store, 'ä/');
    assert.ok(object !== undefined);
    const chunks: Buffer[] = [];
    await readObject(
      store,
      { ...object, version: '' },
      time,
      never,
      async (chunk) => void chunks.push(chunk),
    );
    assert.equal(String(Buffer.concat(chunks)), object.key);
    const large = Buffer.alloc(20 * 1_048_576, 'large ');
    assert.equal(await store.write('large', whole(large), never), large.length);
    assert.ok(azure.objects.get('large')?.equals(large));
    await store.copy('a b+c.csv', 'copy ü', never);
    assert.equal((await store.stat('copy ü', never)).size, 9);
    await store.remove('copy ü', never);
    await store.remove('not there', never);
    await assert.rejects(store.stat('copy ü', never), /BlobNotFound\): there is no such object/);
  });

  it('takes a shared access signature, and says what is wrong with credentials', async () => {
    azure.objects.set('a', Buffer.from('a'));
    const sasToken = `?sv=2021-12-02&sp=rl&sig=${encodeURIComponent(azure.signature)}`;
    assert.equal((await listAll(open({ sasToken }))).length, 1);
    await open({ sasToken }).copy('a', 'copy', never);
    assert.deepEqual(azure.objects.get('copy'), Buffer.from('a'));
    for (const credentials of [{ sasToken: 'sig=wrong' }, { accountKey: 'd3Jvbmc=' }, undefined])
      await assert.rejects(listAll(open(credentials)), {
        name: 'PermanentFault',
        message: /azure:\/\/lakeoftests.* answered 403 \(AuthenticationFailed.*check the credentials/,
      });
    assert.throws(() => open({ accessKeyId: 'x' }), /neither "accountKey" nor "sasToken"/);
  });

  it('gets tokens of a service principal, and keeps them until they expire', async () => {
    const api = await startFakeApi(({ body }, response) => {
      const secret = new URLSearchParams(body).get('client_secret');
      if (secret === 'right') return { access_token: 'token', expires_in: 3_600 };
      response.statusCode = 401;
      return { error: 'invalid_client' };
    });
    const principal = { tenantId: 't', clientId: 'c', clientSecret: 'right' };
    let now = new Date();
    const clock = { ...time, date: () => now };
    const read = createAzureTokens(principal, exchange, clock, api.origin);
    assert.deepEqual([await read(never), await read(never)], ['token', 'token']);
    assert.deepEqual(
      api.requests.map(({ path }) => path),
      ['/t/oauth2/v2.0/token'],
    );
    now = new Date(now.getTime() + 3_600_000);
    await read(never);
    assert.equal(api.requests.length, 2);
    const wrong = createAzureTokens({ ...principal, clientSecret: 'wrong' }, exchange, clock, api.origin);
    await assert.rejects(wrong(never), /Azure gave no token \(401, invalid_client\): check "tenantId"/);
    const stopped = createAzureTokens(principal, exchange, clock, api.origin);
    await assert.rejects(stopped(AbortSignal.abort(new Error('cancelled'))), /cancelled/);
    await api.close();
  });
});
