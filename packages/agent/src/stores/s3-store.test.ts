import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createEgress, parseEgressAllow } from '@headgate/contract/egress';
import { type FakeS3, S3Refusal, startFakeS3 } from '../../testing/fake-s3.ts';
import { createExchange, ExchangeError } from '../connectors/exchange.ts';
import type { ObjectStore, StoredObject } from './object-store.ts';
import { readObject } from './read-object.ts';
import { createS3Store } from './s3-store.ts';

const never = new AbortController().signal;
const bounds = {
  responseBytes: 2 ** 30,
  advice: '',
  answerMilliseconds: 2_000,
  idleMilliseconds: 2_000,
  totalMilliseconds: 20_000,
};
let s3: FakeS3;
let store: ObjectStore;
let pauses: number[];

const time = {
  sleep: async (milliseconds: number) => void pauses.push(milliseconds),
  random: () => 0,
  date: () => new Date(),
};

function open(changes: { secretAccessKey?: string; accessKeyId?: string; sessionToken?: string } = {}) {
  const { accessKeyId, secretAccessKey, endpoint, bucket } = s3;
  const egress = createEgress({
    allow: parseEgressAllow(['127.0.0.0/8']),
    setting: 'S',
    operator: 'the operator',
  });
  return createS3Store({
    address: { kind: 's3', bucket, endpoint, credentials: { from: 'nobody' } },
    readKey: async () => ({ accessKeyId, secretAccessKey, ...changes }),
    exchange: createExchange(egress, bounds),
    time,
  });
}

beforeEach(async () => {
  pauses = [];
  s3 = await startFakeS3();
  store = open();
});
afterEach(async () => {
  store.close();
  await s3.close();
});

async function listAll(prefix = ''): Promise<StoredObject[]> {
  const found: StoredObject[] = [];
  for await (const page of store.list(prefix, never)) found.push(...page);
  return found;
}

async function readWhole(key: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  await readObject(
    store,
    await store.stat(key, never),
    time,
    never,
    async (chunk) => void chunks.push(chunk),
  );
  return Buffer.concat(chunks);
}

async function* inChunks(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

describe('the S3 adapter', () => {
  it('lists page by page, with any name', async () => {
    const keys = ['a b+c.csv', "it's (1)!*~.csv", 'x/&<>"=?#%.csv', 'ä/日本/🙂.csv', 'z//double'];
    for (const key of keys) s3.put(key, key);
    s3.pageSize = 2;
    assert.deepEqual((await listAll()).map(({ key }) => key).sort(), keys.toSorted());
    assert.deepEqual(
      (await listAll('ä/')).map(({ key, size }) => [key, size]),
      [['ä/日本/🙂.csv', 18]],
    );
    for (const key of keys) assert.equal(String(await readWhole(key)), key);
  });

  it('writes, copies and removes objects, large ones in parts', async () => {
    const large = Buffer.alloc(20 * 1_048_576, 'large ');
    assert.equal(await store.write('out/large', inChunks(large), never), large.length);
    assert.ok(s3.objects.get('out/large')?.bytes.equals(large));
    assert.equal(await store.write('out/small ü', inChunks(Buffer.from('small')), never), 5);
    await store.copy('out/small ü', 'out/copy +', never);
    assert.equal(String(await readWhole('out/copy +')), 'small');
    await store.remove('out/small ü', never);
    await store.remove('not there', never);
    assert.deepEqual([...s3.objects.keys()], ['out/large', 'out/copy +']);
  });

  it('refuses a listed name that a URL would make another one', async () => {
    s3.put('in/../important', 'new');
    s3.put('important', 'old');
    const [listed] = await listAll('in/');
    assert.equal(listed?.key, 'in/../important');
    await assert.rejects(readWhole('in/../important'), /a part "\." or "\.\."/);
    await assert.rejects(store.remove('in/../important', never), /a part "\." or "\.\."/);
    await assert.rejects(store.remove('./important', never), /a part "\." or "\.\."/);
    assert.ok(s3.objects.has('important'));
  });

  it('knows its upload if the answer to its end was lost, and no other object', async () => {
    const body = async function* () {
      yield Buffer.alloc(9 * 1_048_576, 'a');
    };
    let isLost = false;
    s3.intercept = ({ method, query }, response) => {
      if (method !== 'POST' || !query.has('uploadId') || isLost) return false;
      isLost = true;
      // It is completed, and the connection breaks.
      response.end = () => response.destroy();
      return false;
    };
    assert.equal(await store.write('out/x', body(), never), 9 * 1_048_576);
    assert.equal(s3.objects.get('out/x')?.bytes.length, 9 * 1_048_576);
    s3.intercept = ({ method, query }) => {
      if (method === 'POST' && query.has('uploadId')) {
        s3.uploads.clear();
        s3.put('out/x', Buffer.alloc(9 * 1_048_576, 'b'));
      }
      return false;
    };
    await assert.rejects(store.write('out/x', body(), never), /NoSuchUpload/);
  });

  it('leaves no part of an upload that fails', async () => {
    async function* breakOff() {
      yield Buffer.alloc(9 * 1_048_576);
      throw new Error('the source broke off');
    }
    await assert.rejects(store.write('out/x', breakOff(), never), /the source broke off/);
    assert.deepEqual([s3.objects.size, s3.uploads.size], [0, 0]);
    assert.ok(s3.requests.some((request) => request.startsWith('DELETE out/x?uploadId=')));
  });

  it('finds the region, and follows the clock of the server', async () => {
    s3.put('a', 'a');
    assert.equal(String(await readWhole('a')), 'a');
    s3.skew = 3_600_000;
    assert.equal(String(await readWhole('a')), 'a');
    s3.skew = -86_400_000;
    assert.equal((await listAll()).length, 1);
  });

  it('says what is wrong with credentials', async () => {
    for (const [changes, reason] of [
      [
        { secretAccessKey: 'wrong' },
        /s3:\/\/lake-of-tests answered 403 \(SignatureDoesNotMatch: .*\): the secret key is wrong; check "secretAccessKey"/,
      ],
      [{ accessKeyId: 'AKIAOTHER' }, /InvalidAccessKeyId.*check "accessKeyId"/],
    ] as const) {
      store = open(changes);
      await assert.rejects(listAll(), { name: 'PermanentFault', message: reason });
    }
    s3.sessionToken = 'the token';
    store = open({ sessionToken: 'other' });
    await assert.rejects(listAll(), /InvalidToken.*check "sessionToken"/);
    store = open({ sessionToken: 'the token' });
    assert.deepEqual(await listAll(), []);
    assert.deepEqual(pauses, []);
  });

  it('waits if it is throttled, and gives up in the end', async () => {
    s3.put('a', 'a');
    await listAll();
    let left = 3;
    s3.intercept = () => {
      if (left-- > 0) throw new S3Refusal(503, 'SlowDown', 'Please reduce your request rate.');
      return undefined;
    };
    assert.equal((await listAll()).length, 1);
    assert.deepEqual(pauses, [500, 1_000, 2_000]);
    left = 1;
    s3.intercept = (_, response) => {
      if (left-- <= 0) return undefined;
      response.writeHead(503, { 'retry-after': '7' }).end('<Error><Code>SlowDown</Code></Error>');
      return true;
    };
    assert.equal((await listAll()).length, 1);
    assert.deepEqual(pauses.splice(3), [7_000], 'as long as the store says');
    s3.intercept = () => {
      if (left-- > 0) throw new S3Refusal(503, 'SlowDown', 'Please reduce your request rate.');
      return undefined;
    };
    left = 100;
    await assert.rejects(listAll(), { name: 'Error', message: /answered 503 \(SlowDown.*run again later/ });
    assert.equal(pauses.length, 3 + 4);
  });

  it('is done if the connection breaks after the last byte', async () => {
    const bytes = Buffer.from('all of it');
    s3.put('a', bytes);
    const object = await store.stat('a', never);
    let reads = 0;
    const breaking: Pick<ObjectStore, 'read'> = {
      async read(_key, _range, _signal, use) {
        reads += 1;
        return use(
          (async function* () {
            yield bytes;
            throw new ExchangeError('the connection broke off');
          })(),
        );
      },
    };
    const chunks: Buffer[] = [];
    await readObject(breaking, object, time, never, async (chunk) => void chunks.push(chunk));
    assert.deepEqual([String(Buffer.concat(chunks)), reads], ['all of it', 1]);
  });

  it('goes on where a body broke off, and never mixes versions', async () => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
    s3.put('a', bytes);
    const object = await store.stat('a', never);
    let breaks = 0;
    s3.intercept = ({ method, headers }, response) => {
      if (method !== 'GET' || breaks === 3) return undefined;
      breaks += 1;
      const from = Number(/\d+/.exec(headers.range ?? '')?.[0] ?? 0);
      const size = bytes.length;
      response.writeHead(from === 0 ? 200 : 206, {
        'content-length': size - from,
        ...(from === 0 ? {} : { 'content-range': `bytes ${from}-${size - 1}/${size}` }),
      });
      response.write(bytes.subarray(from, from + 70_000), () => response.destroy());
      return true;
    };
    const chunks: Buffer[] = [];
    await readObject(store, object, time, never, async (chunk) => void chunks.push(chunk));
    assert.ok(Buffer.concat(chunks).equals(bytes));
    assert.equal(breaks, 3);
    s3.put('a', Buffer.from('changed'));
    await assert.rejects(
      readObject(store, object, time, never, async () => undefined),
      /PreconditionFailed.*the object was changed while it was read/,
    );
  });

  it('does not follow redirects, not even to what is not the metadata service', async () => {
    for (const location of ['http://169.254.169.254/latest/meta-data/', `${s3.endpoint}/other`]) {
      s3.intercept = (_, response) => {
        response.writeHead(307, { location }).end();
        return true;
      };
      await assert.rejects(listAll(), {
        name: 'PermanentFault',
        message: new RegExp(`answered 307 to ${new URL(location).host}, and redirects are not followed`),
      });
    }
    store = createS3Store({
      address: {
        ...{ kind: 's3', bucket: 'latest', endpoint: 'http://169.254.169.254' },
        credentials: { from: 'nobody' },
      },
      readKey: undefined,
      exchange: createExchange(
        createEgress({ allow: parseEgressAllow(['0.0.0.0/0']), setting: 'S', operator: 'the operator' }),
        bounds,
      ),
      time,
    });
    await assert.rejects(listAll(), { name: 'EgressRefused', message: /metadata service/ });
  });

  it('refuses lists that go on without an end, or have what was not asked for', async () => {
    const answers = [
      [
        '<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>',
        /its list goes on, and not how/,
      ],
      [
        '<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></ListBucketResult>',
        /the same page/,
      ],
      [
        '<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>b/x</Key><Size>1</Size></Contents></ListBucketResult>',
        /listed "b\/x", which was not asked for/,
      ],
      ['<html>no store</html>', /answered without IsTruncated: check "endpoint"/],
    ] as const;
    for (const [text, reason] of answers) {
      s3.intercept = (_, response) => {
        response.writeHead(200).end(text);
        return true;
      };
      await assert.rejects(listAll('a/'), reason);
    }
  });

  it('ends when it is aborted', async () => {
    s3.intercept = () => true;
    const controller = new AbortController();
    const listing = store.list('', controller.signal)[Symbol.asyncIterator]().next();
    setTimeout(() => controller.abort(new Error('cancelled')), 50);
    await assert.rejects(listing, /cancelled/);
  });
});
