/**
 * Opens a session with a PostgreSQL server. The name is resolved once and judged, and the client connects to the judged
 * address; the certificate is verified for the name.
 */
import { isIPv6 } from 'node:net';
import type { Egress } from '@headgate/contract/egress';
import type { Client } from 'pg';
import type { PostgresAccess } from './postgres-access.ts';
import { describeConnectError } from './postgres-errors.ts';

const connectMilliseconds = 15_000;

/** Tables of the control plane, which no tenant's connection may reach. */
const ownTables = ['agent_request', 'environment_default_connection', 'work_turn'];

/** Loaded when it is used: most agents have no such warehouse. */
export const loadClient = async () => (await import('pg')).default;

export interface OpenSession {
  client: Client;
  serverVersion: string;
  /** Names the session at the server. */
  processId: number;
}

/** @throws Error that says what to do */
export async function openSession(
  access: PostgresAccess,
  egress: Egress,
  applicationName: string,
): Promise<OpenSession> {
  const { host, port, name } = access;
  const at = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const addresses = await egress.check(new URL(`https://${at}`));
  let failure: unknown;
  for (const { address } of addresses) {
    const client = await createClient(access, address, applicationName);
    // Without a listener, a connection that breaks would end the agent.
    client.on('error', () => undefined);
    try {
      await client.connect();
      return { client, ...(await prepareSession(client, access)) };
    } catch (error) {
      await client.end().catch(() => undefined);
      if (error instanceof OwnDatabase) throw error;
      failure ??= error;
    }
  }
  throw describeConnectError(failure, name, at);
}

async function createClient(access: PostgresAccess, address: string, applicationName: string) {
  const { Client: PostgresClient } = await loadClient();
  const { port, username, password, database, tls } = access;
  return new PostgresClient({
    host: address,
    port,
    user: username,
    password: password.reveal(),
    database,
    ssl: tls,
    application_name: applicationName,
    connectionTimeoutMillis: connectMilliseconds,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  });
}

class OwnDatabase extends Error {}

/** Sets what values and SQL depend on. */
async function prepareSession(
  client: Client,
  { name, schema }: PostgresAccess,
): Promise<Omit<OpenSession, 'client'>> {
  const { rows } = await client.query<{ version: string; pid: number; own: number }>(
    `select current_setting('server_version') as version, pg_backend_pid() as pid,
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
  // The server ends a statement whose agent is gone; older ones and some platforms cannot.
  await client.query("set client_connection_check_interval = '5s'").catch(() => undefined);
  return { serverVersion: found?.version ?? '', processId: found?.pid ?? 0 };
}
