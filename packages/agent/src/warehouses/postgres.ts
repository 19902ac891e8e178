/**
 * PostgreSQL as a warehouse: a session of the server for each session of a run. The agent itself connects, because the
 * processes of runs have no network.
 */
import { createEgress, type EgressAllow, type Resolve } from '@headgate/contract/egress';
import type { Client } from 'pg';
import type { SessionRecords } from './left-sessions.ts';
import {
  hasReadingCredential,
  type PostgresAccess,
  type RefusedCluster,
  readPostgresAccess,
  readReadingAccess,
} from './postgres/postgres-access.ts';
import { type OpenSession, openSession } from './postgres/postgres-connect.ts';
import { PostgresSession } from './postgres/postgres-session.ts';
import { createReadingConnection, requireReadOnlyRole } from './postgres-reading.ts';
import { createServedConnection } from './served/served-connection.ts';
import { leavesState } from './session-state.ts';
import type { ServedDriver, ServedTarget } from './warehouse.ts';

/** How long the server may take to pass on that a statement is cancelled. */
const cancelMilliseconds = 5_000;

const cancelStatement = ({ processId, startedAt }: OpenSession) => ({
  text: `select pg_cancel_backend(pid) from pg_catalog.pg_stat_activity
    where pid = $1 and backend_start = $2::text::timestamptz`,
  values: [processId, startedAt],
});

const endStatement = `select pg_terminate_backend(pid) from pg_catalog.pg_stat_activity
  where pid = $1 and backend_start = $2::text::timestamptz and application_name = $3 and usename = current_user`;

export interface PostgresOptions {
  allow: EgressAllow;
  resolve?: Resolve;
  refused?: RefusedCluster;
  /** Of open sessions; absent: none are kept. */
  records?: SessionRecords;
}

export function createPostgresDriver({
  allow,
  resolve,
  refused = {},
  records,
}: PostgresOptions): ServedDriver {
  const egress = createEgress({
    allow,
    setting: 'HEADGATE_AGENT_EGRESS_ALLOW',
    operator: 'the operator of the agent',
    resolve,
  });

  async function open(access: PostgresAccess, tag: string) {
    const opened = await openSession(access, { egress, refused }, tag);
    const cancel = async () => {
      const other = await openSession(access, { egress, refused }, tag);
      const late = setTimeout(() => other.socket.destroy(), cancelMilliseconds);
      try {
        await other.client.query(cancelStatement(opened));
      } finally {
        clearTimeout(late);
        await other.client.end();
      }
    };
    return { ...opened, session: new PostgresSession(opened, access.name, cancel) };
  }

  async function openRecorded(access: PostgresAccess, { tag, connection, places }: ServedTarget) {
    const { session, processId, startedAt } = await open(access, tag);
    const record = { tag, processId, startedAt, connection, places: Object.fromEntries(places) };
    const forget = await records?.add(record).catch(async (failure) => {
      await session.close();
      throw failure;
    });
    if (forget !== undefined) session.onClose(forget);
    return session;
  }

  /** The role of runs must not be one of the reading role, whatever else it may do. */
  async function openReading({ connection, readSecret }: ServedTarget, tag: string) {
    const access = await readReadingAccess(connection, readSecret);
    const { username: runRole } = await readPostgresAccess(connection, readSecret);
    const opened = await open(access, tag);
    try {
      await requireReadOnlyRole(opened.client, access, runRole);
      await requireSchema(opened.client, access);
    } catch (failure) {
      await opened.session.close();
      throw failure;
    }
    return opened.session;
  }

  return {
    async connect(target) {
      const access = await readPostgresAccess(target.connection, target.readSecret);
      const first = await openRecorded(access, target);
      return createServedConnection(first, {
        name: access.name,
        leavesState,
        reopen: () => openRecorded(access, target),
      });
    },
    async connectReading(target) {
      return createReadingConnection(await openReading(target, target.tag));
    },
    async test(target) {
      const access = await readPostgresAccess(target.connection, target.readSecret);
      const { session, client, serverVersion } = await open(access, target.tag);
      try {
        await requireSchema(client, access);
      } finally {
        await session.close();
      }
      if (hasReadingCredential(target.connection))
        await (await openReading(target, `${target.tag}:read`)).close();
      return { serverVersion };
    },
    async endSession(target, left) {
      const access = await readPostgresAccess(target.connection, target.readSecret);
      const { client, socket } = await openSession(access, { egress, refused }, `${target.tag}:end`);
      const late = setTimeout(
        () => socket.destroy(new Error('the server did not answer')),
        cancelMilliseconds,
      );
      try {
        const { rowCount } = await client.query(endStatement, [left.processId, left.startedAt, left.tag]);
        return rowCount === 1;
      } finally {
        clearTimeout(late);
        await client.end();
      }
    },
  };
}

/** Without it, tables without a schema would go to another one. */
async function requireSchema(
  client: Client,
  { name, schema, username, database }: PostgresAccess,
): Promise<void> {
  if (schema === undefined) return;
  const { rows } = await client.query<{ usable: boolean }>(
    "select has_schema_privilege(oid, 'USAGE') as usable from pg_catalog.pg_namespace where nspname = $1",
    [schema],
  );
  const fault = rows[0]?.usable === false ? `may not be used by the role "${username}"` : 'does not exist';
  if (rows[0]?.usable !== true)
    throw new Error(
      `the schema "${schema}" ${fault} in the database "${database}": create it, grant USAGE on it, or correct "schema" of the connection "${name}"`,
    );
}
