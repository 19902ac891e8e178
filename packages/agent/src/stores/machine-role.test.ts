import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEgress, parseEgressAllow } from '@headgate/contract/egress';
import type { StoreAddress } from '@headgate/pipelines';
import { startFakeS3 } from '../../testing/fake-s3.ts';
import { createExchange } from '../connectors/exchange.ts';
import { requireRoleEndpoint } from './machine-role.ts';
import { openStore } from './open-store.ts';

const address = (endpoint?: string): StoreAddress => ({
  ...{ kind: 's3', bucket: 'lake', credentials: { from: 'machine' } },
  ...(endpoint !== undefined && { endpoint }),
});

test("the role of the machine is for Amazon's own endpoints", () => {
  for (const endpoint of [
    undefined,
    'https://s3.amazonaws.com',
    'https://s3.eu-central-1.amazonaws.com',
    'https://s3.dualstack.us-west-2.amazonaws.com',
    'https://s3-fips.us-gov-west-1.amazonaws.com',
    'https://s3.cn-north-1.amazonaws.com.cn',
    'https://bucket.vpce-0123456789abcdef0-abcdefgh.s3.us-east-1.vpce.amazonaws.com',
  ])
    requireRoleEndpoint(address(endpoint), { hosts: [] });
  for (const endpoint of [
    'https://minio.example.com',
    'http://s3.eu-central-1.amazonaws.com',
    'https://s3.eu-central-1.amazonaws.com.example.com',
    'https://s3.eu-central-1.amazonaws.com:8443',
    'https://ec2-198-51-100-1.compute-1.amazonaws.com',
    'https://s3.elb.us-east-1.amazonaws.com',
    'https://x.execute-api.us-east-1.amazonaws.com',
  ])
    assert.throws(
      () => requireRoleEndpoint(address(endpoint), { hosts: [] }),
      /role of the agent's machine may not be used with .*HEADGATE_AGENT_MACHINE_ROLE=/,
    );
});

test('an endpoint that a pipeline names gets no request with the key of the machine, unless its host is allowed', async () => {
  const s3 = await startFakeS3();
  const seen: string[] = [];
  s3.intercept = ({ method }) => {
    seen.push(method);
    return false;
  };
  const egress = createEgress({
    allow: parseEgressAllow(['127.0.0.0/8']),
    ...{ setting: 'S', operator: 'the operator' },
  });
  let reads = 0;
  const open = (hosts: string[]) =>
    openStore(
      { ...address(s3.endpoint), kind: 's3', bucket: s3.bucket },
      {
        exchange: createExchange(egress, {
          ...{ responseBytes: 2 ** 20, advice: '' },
          ...{ answerMilliseconds: 60_000, idleMilliseconds: 60_000, totalMilliseconds: 60_000 },
        }),
        egress,
        secrets: {
          readSecret: () => assert.fail(),
          readCloudSecret: () => assert.fail(),
          onValue: () => undefined,
        },
        machine: {
          hosts,
          async readKey() {
            reads += 1;
            return { accessKeyId: s3.accessKeyId, secretAccessKey: s3.secretAccessKey };
          },
        },
        time: { sleep: async () => undefined, random: () => 0, date: () => new Date() },
      },
    );
  try {
    await assert.rejects(open([]), /may not be used with 127\.0\.0\.1:\d+: leave "endpoint" empty/);
    assert.deepEqual([seen, reads], [[], 0]);
    s3.put('a', 'b');
    const store = await open([new URL(s3.endpoint).host]);
    const { size } = await store.stat('a', new AbortController().signal);
    assert.deepEqual([size, seen.length > 0, reads > 0], [1, true, true]);
    store.close();
  } finally {
    await s3.close();
  }
});

test('the bucket and the region of a run direct no request with the key of the machine elsewhere', async () => {
  const s3 = await startFakeS3();
  const host = new URL(s3.endpoint).host;
  const sent: string[] = [];
  s3.intercept = ({ method }) => {
    sent.push(method);
    return false;
  };
  const egress = createEgress({
    allow: parseEgressAllow(['127.0.0.0/8']),
    ...{ setting: 'S', operator: 'the operator' },
  });
  const hostile: Partial<Extract<StoreAddress, { kind: 's3' }>>[] = [
    { region: `us-east-1.amazonaws.com@${host}/`, pathStyle: true },
    { region: `x@${host}#`, pathStyle: true },
    { region: 'us-east-1.example.com/' },
    { bucket: `${host}/`, pathStyle: false },
    { bucket: `x@${host}#`, pathStyle: false },
    { bucket: 'ec2-198-51-100-1.compute-1.amazonaws.com/', pathStyle: false },
  ];
  try {
    for (const each of hostile) {
      const store = await openStore(
        { kind: 's3', bucket: 'lake', credentials: { from: 'machine' }, ...each },
        {
          exchange: createExchange(egress, {
            ...{ responseBytes: 2 ** 20, advice: '' },
            ...{ answerMilliseconds: 60_000, idleMilliseconds: 60_000, totalMilliseconds: 60_000 },
          }),
          egress,
          secrets: {
            readSecret: () => assert.fail(),
            readCloudSecret: () => assert.fail(),
            onValue: () => undefined,
          },
          machine: { hosts: ['minio.example.com'], readKey: () => assert.fail('the key is not read') },
          time: { sleep: async () => undefined, random: () => 0, date: () => new Date() },
        },
      );
      await assert.rejects(
        store.stat('a', new AbortController().signal),
        /the role of the agent's machine may not be used with/,
        JSON.stringify(each),
      );
      store.close();
    }
    assert.deepEqual(sent, []);
  } finally {
    await s3.close();
  }
});
