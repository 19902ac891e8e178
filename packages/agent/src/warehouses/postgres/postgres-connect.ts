/**
 * Opens a session with a PostgreSQL server. The name is resolved once and judged, and the client connects to the judged
 * address; the certificate is verified for the name.
 */
import { isIPv6 } from 'node:net';
import type { Egress } from '@headgate/contract/egress';
import type { Client } from 'pg';
import type { PostgresAccess, RefusedCluster } from './postgres-access.ts';
import { describeConnectError } from './postgres-errors.ts';
import { PostgresSocket } from './postgres-socket.ts';
import { OwnDatabase, type PreparedSession, type ServerKind } from './server-kind.ts';

/** To sign in and to prepare the session. */
const connectMilliseconds = 15_000;
const lateWords = `no answer within ${connectMilliseconds / 1_000} s`;

/** Loaded when it is used: most agents have no such warehouse. */
export const loadClient = async () => (await import('pg')).default;

export interface OpenSession extends PreparedSession {
  client: Client;
  /** That of the client. */
  socket: PostgresSocket;
}

export interface OpeningRules {
  egress: Egress;
  refused: RefusedCluster;
  kind: ServerKind;
}

/** @throws Error that says what to do */
export async function openSession(
  access: PostgresAccess,
  { egress, refused, kind }: OpeningRules,
  tag: string,
): Promise<OpenSession> {
  const { host, port } = access;
  const at = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const addresses = await egress.check(new URL(`https://${at}`));
  let failure: unknown;
  for (const { address } of addresses) {
    const socket = new PostgresSocket(access.tls);
    const client = await createClient(access, address, tag, socket);
    // Without a listener, a connection that breaks would end the agent.
    client.on('error', () => undefined);
    const late = setTimeout(() => socket.destroy(new Error(lateWords)), connectMilliseconds);
    try {
      await client.connect();
      return { client, socket, ...(await kind.prepare(client, access, refused, tag)) };
    } catch (error) {
      socket.destroy();
      if (error instanceof OwnDatabase) throw error;
      failure ??= socket.refusal ?? error;
    } finally {
      clearTimeout(late);
    }
  }
  throw describeConnectError(failure, access, at);
}

async function createClient(
  { port, username, password, database }: PostgresAccess,
  address: string,
  applicationName: string,
  socket: PostgresSocket,
) {
  const { Client: PostgresClient } = await loadClient();
  return new PostgresClient({
    host: address,
    port,
    user: username,
    password: password.reveal(),
    database,
    // The socket does it.
    ssl: false,
    stream: () => socket,
    application_name: applicationName,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  });
}
