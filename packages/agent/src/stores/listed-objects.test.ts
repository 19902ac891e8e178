/** A store that anyone may write to, or that is hostile, lists what it likes. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { queryObjects } from 'node:v8';
import { createEgress, parseEgressAllow } from '@headgate/contract/egress';
import { type FakeS3, startFakeS3 } from '../../testing/fake-s3.ts';
import { createExchange } from '../connectors/exchange.ts';
import { createRunStores } from '../pool/run-stores.ts';
import { createAzureStore } from './azure-store.ts';
import type { ObjectStore } from './object-store.ts';
import { createS3Store } from './s3-store.ts';

const never = new AbortController().signal;
const time = { sleep: async () => undefined, random: () => 0, date: () => new Date() };
const exchange = createExchange(
  createEgress({ allow: parseEgressAllow(['127.0.0.0/8']), setting: 'S', operator: 'the operator' }),
  {
    ...{ responseBytes: 2 ** 30, advice: '', answerMilliseconds: 20_000 },
    ...{ idleMilliseconds: 20_000, totalMilliseconds: 60_000 },
  },
);
let s3: FakeS3;
let store: ObjectStore;
before(async () => {
  s3 = await startFakeS3();
  const { accessKeyId, secretAccessKey, endpoint, bucket } = s3;
  const address = { kind: 's3', bucket, endpoint, credentials: { from: 'nobody' } } as const;
  const readKey = async () => ({ accessKeyId, secretAccessKey });
  store = createS3Store({ address, readKey, exchange, time });
});
after(async () => {
  exchange.close();
  await s3.close();
});
beforeEach(() => {
  s3.requests.length = 0;
});

const place = {
  store: { kind: 's3', bucket: 'b', credentials: { from: 'nobody' } },
  key: 'in/',
} as const;

function openRunStores(opened = store) {
  const stores = { open: async () => opened, fetch: async () => [], convert: async () => assert.fail() };
  return createRunStores({ stores, kill: never }, {} as Parameters<typeof createRunStores>[1]);
}

/** Answers each question for a list by one object with a padding, until the last page. */
function listPages(padding: string, key: (page: number) => string, pages: number) {
  let page = 0;
  s3.intercept = (_, response) => {
    page += 1;
    const more =
      page < pages
        ? `<IsTruncated>true</IsTruncated><NextContinuationToken>${page}</NextContinuationToken>`
        : '<IsTruncated>false</IsTruncated>';
    const name = key(page);
    const object = name === '' ? '' : `<Contents><Key>${name}</Key><Size>1</Size><ETag>"1"</ETag></Contents>`;
    response.writeHead(200).end(`<ListBucketResult>${more}${object}<X>${padding}</X></ListBucketResult>`);
    return true;
  };
}

describe('names of objects that are those of others', () => {
  it('reach no other bucket', async () => {
    const key = 'in/../../other-bucket/x';
    s3.intercept = (_, response) => {
      response.writeHead(204).end();
      return true;
    };
    const azure = { kind: 'azure', account: 'lakeoftests', container: 'c', endpoint: s3.endpoint } as const;
    const other = createAzureStore({
      ...{ address: { ...azure, credentials: { from: 'nobody' } }, credentials: undefined, exchange, time },
    });
    for (const each of [store, other])
      for (const use of [
        () => each.remove(key, never),
        () => each.stat(key, never),
        () => each.copy(key, 'mine', never),
        () => each.copy('mine', key, never),
        () => each.read(key, { from: 0, version: '' }, never, async () => undefined),
      ])
        await assert.rejects(use, { name: 'PermanentFault', message: /has a part "\." or "\.\."/ });
    assert.deepEqual(s3.requests, []);
  });
});

/** Large strings are outside of the heap. Node.js collects garbage before it counts objects. */
function measureMemoryInUse(): number {
  queryObjects(class {}, { format: 'count' });
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe('a list', () => {
  for (const [what, key] of Object.entries({
    'a name that no store has': `in/${'x'.repeat(5_000)}`,
    'a name with half a character': 'in/&#xd800;',
    'a name with the character 0': 'in/&#0;',
  }))
    it(`is refused if it has ${what}`, async () => {
      listPages('', () => key, 1);
      await assert.rejects(openRunStores().list({ place }, never), /listed "in\/.*check "endpoint"/);
    });

  it('is refused if an ETag has a line break', async () => {
    s3.intercept = (_, response) => {
      response
        .writeHead(200)
        .end(
          '<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>in/a</Key><Size>1</Size><ETag>"1\n2"</ETag></Contents></ListBucketResult>',
        );
      return true;
    };
    await assert.rejects(
      openRunStores().list({ place }, never),
      /"in\/a", whose ETag has characters that no/,
    );
  });

  it('ends if its pages do not, and if its names fill the memory', async () => {
    const listing = (key: string) => ({
      ...store,
      async *list() {
        while (true) yield key === '' ? [] : [{ key, size: 1, modified: '', version: '' }];
      },
    });
    await assert.rejects(openRunStores(listing('')).list({ place }, never), /has more than 1000 pages/);
    // Before a write, one object is looked for.
    const file = { findWriting: () => 'x' } as unknown as Parameters<typeof createRunStores>[1];
    const stores = {
      open: async () => listing(''),
      fetch: async () => [],
      convert: async () => assert.fail(),
    };
    await assert.rejects(
      createRunStores({ stores, kill: never }, file).send(
        { source: { partial: 'x' }, target: { place }, gzips: false, isNew: true },
        never,
      ),
      /has more than 1000 pages/,
    );
    const long = listing('x'.repeat(500_000));
    await assert.rejects(openRunStores(long).list({ place }, never), /has more than 128 MiB of names/);
  });

  it('keeps no pages in memory', async () => {
    listPages('x'.repeat(8 * 1_048_576), (page) => `in/object-with-a-long-name-${page}`, 10);
    const before = measureMemoryInUse();
    const found = await openRunStores().list({ place }, never);
    const grown = (measureMemoryInUse() - before) / 1_048_576;
    assert.equal(found.length, 10);
    assert.ok(grown < 20, `${grown} MiB`);
  });
});
