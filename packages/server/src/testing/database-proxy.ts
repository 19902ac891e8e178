/**
 * A way to a test's PostgreSQL that can be cut, fall silent, or lead to another server: TCP on loopback in
 * front of its unix socket.
 */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type pg from 'pg';

export interface DatabaseProxy {
  port: number;
  /** The same database by this way. */
  connectionTo(connectionString: string): pg.ClientConfig;
  /** Connections that come from now on lead there. */
  leadTo(socketPath: string): void;
  /** Refuses whoever comes, until it is told otherwise. */
  refuse(refusing: boolean): void;
  /** Nothing passes any more on the connections there are, and neither side is told. */
  silence(): void;
  /** Breaks the connections there are. */
  cut(): void;
  accepted(): number;
  close(): Promise<void>;
}

/** Of an address as the embedded PostgreSQL gives it. */
export function findSocket(connectionString: string): string {
  const url = new URL(connectionString);
  return `${url.searchParams.get('host')}/.s.PGSQL.${url.port}`;
}

export async function openDatabaseProxy(socketPath: string): Promise<DatabaseProxy> {
  let target = socketPath;
  let refusing = false;
  let accepted = 0;
  const pairs = new Set<readonly [Socket, Socket]>();
  const server = createServer((near) => {
    accepted += 1;
    if (refusing) return void near.destroy();
    const far = connect(target);
    const pair = [near, far] as const;
    pairs.add(pair);
    near.pipe(far).pipe(near);
    for (const socket of pair) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        pairs.delete(pair);
        near.destroy();
        far.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const cut = () => {
    for (const [near] of pairs) near.destroy();
  };
  return {
    port,
    connectionTo(connectionString) {
      const { username, pathname } = new URL(connectionString);
      return { host: '127.0.0.1', port, user: username, database: pathname.slice(1) };
    },
    leadTo(path) {
      target = path;
    },
    refuse(now) {
      refusing = now;
    },
    silence() {
      for (const [near, far] of pairs) {
        near.unpipe(far);
        far.unpipe(near);
        near.pause();
        far.pause();
      }
    },
    cut,
    accepted: () => accepted,
    async close() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
