/**
 * A TCP proxy on loopback in front of the test PostgreSQL's Unix socket. It can break connections, stop
 * forwarding, or lead to another server.
 */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type pg from 'pg';

export interface DatabaseProxy {
  port: number;
  /** A connection to the same database through the proxy. */
  makeConnection(connectionString: string): pg.ClientConfig;
  /** Sends new connections to another socket. */
  redirectTo(socketPath: string): void;
  /** Refuses new connections until called with false. */
  refuse(refusing: boolean): void;
  /** Stops forwarding on open connections, without closing them. */
  silence(): void;
  /** Breaks the open connections. */
  breakConnections(): void;
  accepted(): number;
  close(): Promise<void>;
}

/** The socket path in a connection string of the embedded PostgreSQL. */
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
    makeConnection(connectionString) {
      const { username, pathname } = new URL(connectionString);
      return { host: '127.0.0.1', port, user: username, database: pathname.slice(1) };
    },
    redirectTo(path) {
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
    breakConnections: cut,
    accepted: () => accepted,
    async close() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
