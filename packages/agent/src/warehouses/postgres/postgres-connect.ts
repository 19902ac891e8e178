/**
 * Opens a session with a PostgreSQL server. The name is resolved once and judged, and the client connects to the judged
 * address; the certificate is verified for the name.
 */
import { isIPv6 } from 'node:net';
import type { Egress } from '@headgate/contract/egress';
import type { Client } from 'pg';
import type { PostgresAccess, RefusedCluster } from './postgres-access.ts';
import { describeConnectError, getServerCode } from './postgres-errors.ts';
import { PostgresSocket } from './postgres-socket.ts';

/** To sign in and to prepare the session. */
const connectMilliseconds = 15_000;
const lateWords = `no answer within ${connectMilliseconds / 1_000} s`;

/** Tables of the control plane, which no tenant's connection may reach. */
const ownTables = ['agent_request', 'environment_default_connection', 'work_turn'];

/** Loaded when it is used: most agents have no such warehouse. */
export const loadClient = async () => (await import('pg')).default;

export interface OpenSession {
  client: Client;
  /** That of the client. */
  socket: PostgresSocket;
  serverVersion: string;
  /** Names the session at the server, with its start: another one may have the number later. */
  processId: number;
  startedAt: string;
}

/** @throws Error that says what to do */
export async function openSession(
  access: PostgresAccess,
  { egress, refused }: { egress: Egress; refused: RefusedCluster },
  applicationName: string,
): Promise<OpenSession> {
  const { host, port } = access;
  const at = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const addresses = await egress.check(new URL(`https://${at}`));
  let failure: unknown;
  for (const { address } of addresses) {
    const socket = new PostgresSocket(access.tls);
    const client = await createClient(access, address, applicationName, socket);
    // Without a listener, a connection that breaks would end the agent.
    client.on('error', () => undefined);
    const late = setTimeout(() => socket.destroy(new Error(lateWords)), connectMilliseconds);
    try {
      await client.connect();
      return { client, socket, ...(await prepareSession(client, access, refused)) };
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

/** Undefined if the server does not say it. */
async function readCluster(client: Client): Promise<string | undefined> {
  const sql = 'select system_identifier::text as cluster from pg_catalog.pg_control_system()';
  try {
    return (await client.query<{ cluster: string }>(sql)).rows[0]?.cluster;
  } catch (failure) {
    if (getServerCode(failure) === undefined) throw failure;
    return undefined;
  }
}

class OwnDatabase extends Error {}

/** Sets what values and SQL depend on. */
async function prepareSession(
  client: Client,
  { name, schema }: PostgresAccess,
  { systemIdentifier }: RefusedCluster,
): Promise<Omit<OpenSession, 'client' | 'socket'>> {
  const { rows } = await client.query<{ version: string; pid: number; started_at: string; own: number }>(
    `select current_setting('server_version') as version, pg_backend_pid() as pid,
      (select backend_start::text from pg_catalog.pg_stat_activity where pid = pg_backend_pid()) as started_at,
      (select count(distinct relname)::integer from pg_catalog.pg_class where relkind = 'r' and relname = any ($1::text[])) as own,
      set_config('TimeZone', 'UTC', false), set_config('DateStyle', 'ISO, YMD', false),
      set_config('IntervalStyle', 'postgres', false), set_config('bytea_output', 'hex', false),
      set_config('extra_float_digits', '1', false), set_config('standard_conforming_strings', 'on', false),
      set_config('client_min_messages', 'warning', false),
      case when $2::text is not null then set_config('search_path', quote_ident($2::text) || ', public', false) end`,
    [ownTables, schema ?? null],
  );
  const [found] = rows;
  if (found?.own === ownTables.length)
    throw new OwnDatabase(
      `the database of the connection "${name}" is that of a Headgate server, which no run may use: name another database`,
    );
  if (systemIdentifier !== undefined && (await readCluster(client)) === systemIdentifier)
    throw new OwnDatabase(
      `the server of the connection "${name}" is that of a Headgate server, whose databases no run may use: use a PostgreSQL server of its own`,
    );
  // The server ends a statement whose agent is gone; older ones and some platforms cannot.
  await client.query("set client_connection_check_interval = '5s'").catch(() => undefined);
  return {
    serverVersion: found?.version ?? '',
    processId: found?.pid ?? 0,
    startedAt: found?.started_at ?? '',
  };
}
