/** The fake Snowflake as a warehouse, with a user for runs and one for reading. */
import { generateKeyPairSync } from 'node:crypto';
import { parseEgressAllow } from '@headgate/contract/egress';
import { Secret } from '@headgate/contract/without-schemas';
import { realTime } from '../src/time.ts';
import { createSnowflakeDriver, type SnowflakeOptions } from '../src/warehouses/snowflake.ts';
import type { ServedDriver, ServedTarget } from '../src/warehouses/warehouse.ts';
import { createFakeSnowflake, type FakeSnowflake, fakePlace } from './snowflake-server.ts';

export interface TestSnowflake {
  fake: FakeSnowflake;
  driver: ServedDriver;
  target: ServedTarget;
  /** By the name of a secret reference. */
  secrets: Map<string, string>;
  /** Of the target, with other values. */
  change(properties: Record<string, string>): ServedTarget;
  /** With other options. */
  createDriver(options?: Partial<SnowflakeOptions>): ServedDriver;
  drop(): Promise<void>;
}

export const passphrase = 'correct horse';

/** A key as openssl writes it. */
export const createKey = (secret?: string) => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const cipher = secret === undefined ? {} : { cipher: 'aes-256-cbc', passphrase: secret };
  return { publicKey, pem: String(privateKey.export({ type: 'pkcs8', format: 'pem', ...cipher })) };
};

export async function createTestSnowflake(): Promise<TestSnowflake> {
  const fake = await createFakeSnowflake();
  const [run, read] = [createKey(passphrase), createKey()];
  const all = [
    ['OWNERSHIP', 'SCHEMA', 'SHOP.WH'],
    ['CREATE SCHEMA', 'DATABASE', 'SHOP'],
  ] as const;
  const reading = {
    READING: [
      ['USAGE', 'WAREHOUSE', 'WORK'],
      ['USAGE', 'ROLE', 'TABLES'],
    ],
    TABLES: [['SELECT', 'TABLE', 'SHOP.WH.T1']],
  } as const;
  fake.users.set('LOADER', {
    publicKey: run.publicKey,
    defaultRole: 'PUBLIC',
    roles: { LOADING: all, PUBLIC: [] },
  });
  fake.users.set('READER', {
    publicKey: read.publicKey,
    defaultRole: 'PUBLIC',
    roles: {
      ...reading,
      WRITING: [['INSERT', 'TABLE', 'SHOP.WH.T1']],
      MANAGING: [['USAGE', 'ROLE', 'SYSADMIN']],
      SYSADMIN: [],
      PUBLIC: [],
    },
  });
  // As `READER`, without roles that may write.
  fake.users.set('TESTER', {
    publicKey: read.publicKey,
    defaultRole: 'PUBLIC',
    roles: { ...reading, PUBLIC: [] },
  });
  const secrets = new Map([
    ['warehouse-key', run.pem],
    ['warehouse-passphrase', passphrase],
    ['reader-key', read.pem],
  ]);
  const properties = {
    ...fakePlace,
    host: `127.0.0.1:${fake.port}`,
    username: 'loader',
    role: 'LOADING',
    readUsername: 'reader',
    readRole: 'READING',
  };
  const change = (changed: Record<string, string>): ServedTarget => ({
    connection: {
      name: 'shop',
      properties: {
        ...Object.fromEntries(
          Object.entries({ ...properties, ...changed }).map(([key, value]) => [key, { value }]),
        ),
        privateKey: { secretName: 'warehouse-key' },
        passphrase: { secretName: 'warehouse-passphrase' },
        readPrivateKey: { secretName: 'reader-key' },
      },
    },
    tag: 'hg:11111111-2222-4333-8444-555555555555',
    readSecret: async (name) => new Secret(secrets.get(name) ?? ''),
    places: new Map(),
  });
  const createDriver = (options: Partial<SnowflakeOptions> = {}) =>
    createSnowflakeDriver({
      allow: parseEgressAllow(['127.0.0.0/8', '::1/128', 'localhost']),
      // Pauses between attempts take no time.
      time: { ...realTime, sleep: (_, signal) => realTime.sleep(5, signal), date: () => new Date() },
      ...options,
    });
  return {
    fake,
    driver: createDriver(),
    target: change({}),
    secrets,
    change,
    createDriver,
    drop: () => fake.close(),
  };
}
