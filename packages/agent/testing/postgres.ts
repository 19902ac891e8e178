/** A database of the PostgreSQL of the tests, with a role of its own, as a warehouse. */
import { randomBytes } from 'node:crypto';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { parseEgressAllow } from '@headgate/contract/egress';
import { Secret } from '@headgate/contract/without-schemas';
import pg from 'pg';
import { createPostgresDriver } from '../src/warehouses/postgres.ts';
import type { ServedDriver, ServedTarget } from '../src/warehouses/warehouse.ts';
import { createRewriting } from './rewritten-messages.ts';

export interface TestPostgres {
  driver: ServedDriver;
  /** Connects as the role, with the schema "wh", and reads as `reader`. */
  target: ServedTarget;
  /** The role for reading. It may read all tables. */
  reader: string;
  runRole: string;
  /** Of the operator of the server. */
  admin: pg.Client;
  /** Breaks all connections of the target. */
  cut(): void;
  /** Of the target, with other values. */
  change(properties: Record<string, string>, password?: string): ServedTarget;
  drop(): Promise<void>;
}

/** A server that is PostgreSQL behind another face. */
export interface Face {
  createDriver: typeof createPostgresDriver;
  /** What the server gets in place of a statement of the client. */
  rewrite(sql: string): string;
}

export async function createTestPostgres(face?: Face): Promise<TestPostgres> {
  const address = process.env.HEADGATE_TEST_DATABASE_URL;
  if (address === undefined)
    throw new Error('HEADGATE_TEST_DATABASE_URL is not set: run the tests with `npm test`.');
  const url = new URL(address);
  const name = `warehouse_${randomBytes(6).toString('hex')}`;
  const password = randomBytes(12).toString('hex');
  const first = new pg.Client({ connectionString: address });
  await first.connect();
  await first.query(`create role ${name} login password '${password}'`);
  const reader = `${name}_reader`;
  await first.query(`create role ${reader} login password '${password}' in role pg_read_all_data`);
  await first.query(`create database ${name} owner ${name}`);
  await first.end();
  const ofWarehouse = new URL(url);
  ofWarehouse.pathname = `/${name}`;
  const admin = new pg.Client({ connectionString: ofWarehouse.href });
  await admin.connect();
  await admin.query(`create schema wh authorization ${name}`);
  const way = await openPort(admin, face?.rewrite);
  const properties = {
    host: '127.0.0.1',
    port: String(way.port),
    username: name,
    readUsername: reader,
    database: name,
    schema: 'wh',
  };
  const change = (changed: Record<string, string>, otherPassword = password): ServedTarget => ({
    connection: {
      name: 'shop',
      properties: {
        ...Object.fromEntries(
          Object.entries({ ...properties, ...changed }).map(([key, value]) => [key, { value }]),
        ),
        password: { secretName: 'warehouse-password' },
        readPassword: { secretName: 'reader-password' },
      },
    },
    tag: 'hg:11111111-2222-4333-8444-555555555555',
    readSecret: async (secret) => new Secret(secret === 'reader-password' ? password : otherPassword),
    places: new Map(),
  });
  return {
    driver: (face?.createDriver ?? createPostgresDriver)({
      allow: parseEgressAllow(['127.0.0.0/8', '::1/128', 'localhost']),
    }),
    target: change({}),
    reader,
    runRole: name,
    admin,
    cut: way.cut,
    change,
    async drop() {
      await way.close();
      await admin.end();
      const last = new pg.Client({ connectionString: address });
      await last.connect();
      await last.query(`drop database ${name} with (force)`);
      await last.query(`drop role ${name}, ${reader}`);
      await last.end();
    },
  };
}

/** The PostgreSQL of the tests may listen at a socket file only, so that connections go through a port of the test. */
async function openPort({ host, port }: pg.Client, rewrite?: (sql: string) => string) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const other = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    for (const [one, two] of [
      [socket, other],
      [other, socket],
    ] as const) {
      sockets.add(one);
      one.on('error', () => two.destroy());
      one.on('close', () => {
        sockets.delete(one);
        two.destroy();
      });
    }
    if (rewrite === undefined) socket.pipe(other);
    else socket.pipe(createRewriting(rewrite)).pipe(other);
    other.pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      this.cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
