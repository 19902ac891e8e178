/**
 * PostgreSQL as a warehouse: a session of the server for each session of a run. The agent itself connects, because the
 * processes of runs have no network.
 */
import { createEgress, type EgressAllow, type Resolve } from '@headgate/contract/egress';
import type { Client } from 'pg';
import type { SecretSql } from '../engine/ports/ports.ts';
import type { SessionRecords } from './left-sessions.ts';
import {
  hasReadingCredential,
  type PostgresAccess,
  type RefusedCluster,
  readPostgresAccess,
  readReadingAccess,
} from './postgres/postgres-access.ts';
import { openSession } from './postgres/postgres-connect.ts';
import { postgresServer } from './postgres/postgres-server.ts';
import { PostgresSession } from './postgres/postgres-session.ts';
import type { ServerKind } from './postgres/server-kind.ts';
import { createReadingConnection } from './postgres-reading.ts';
import { leavesState } from './session-state.ts';
import type { ReadRows, ServedDriver, ServedTarget, WarehouseConnection } from './warehouse.ts';

/** Bytes of text that one query may return. */
const resultLimit = 64 * 1024 * 1024;

/** How long the server may take to pass on that a statement is cancelled. */
const cancelMilliseconds = 5_000;

export interface PostgresOptions {
  allow: EgressAllow;
  resolve?: Resolve;
  refused?: RefusedCluster;
  /** Of open sessions; absent: none are kept. */
  records?: SessionRecords;
}

/** @param kind of a server that speaks PostgreSQL's protocol */
export function createPostgresDriver(
  { allow, resolve, refused = {}, records }: PostgresOptions,
  kind: ServerKind = postgresServer,
): ServedDriver {
  const egress = createEgress({
    allow,
    setting: 'HEADGATE_AGENT_EGRESS_ALLOW',
    operator: 'the operator of the agent',
    resolve,
  });
  const rules = { egress, refused, kind };

  async function open(access: PostgresAccess, tag: string) {
    const opened = await openSession(access, rules, tag);
    const cancel = async (isInTransaction: boolean) => {
      const other = await openSession(access, rules, tag);
      const late = setTimeout(() => other.socket.destroy(), cancelMilliseconds);
      try {
        await kind.cancel(other.client, opened, isInTransaction);
      } finally {
        clearTimeout(late);
        await other.client.end();
      }
    };
    return { ...opened, session: new PostgresSession(opened, access.name, cancel) };
  }

  async function openRecorded(access: PostgresAccess, { tag, connection, places }: ServedTarget) {
    const { session, processId, startedAt } = await open(access, tag);
    const record = {
      kind: kind.name,
      tag,
      processId,
      startedAt,
      connection,
      places: Object.fromEntries(places),
    };
    // Without its start, a session cannot be told from a later one.
    const forget = await (startedAt === '' ? undefined : records?.add(record))?.catch(async (failure) => {
      await session.close();
      throw failure;
    });
    if (forget !== undefined) session.onClose(forget);
    return session;
  }

  /** The role of runs must not be one of the reading role, whatever else it may do. */
  async function openReading({ connection, readSecret }: ServedTarget, tag: string) {
    const access = await readReadingAccess(connection, readSecret, kind.port);
    const { username: runRole } = await readPostgresAccess(connection, readSecret, kind.port);
    const opened = await open(access, tag);
    try {
      await kind.requireReadOnlyRole(opened.client, access, runRole);
      await requireSchema(opened.client, access, kind);
    } catch (failure) {
      await opened.session.close();
      throw failure;
    }
    return opened.session;
  }

  return {
    async connect(target) {
      const access = await readPostgresAccess(target.connection, target.readSecret, kind.port);
      const first = await openRecorded(access, target);
      return createConnection(first, target, kind, () => openRecorded(access, target));
    },
    async connectReading(target) {
      return createReadingConnection(await openReading(target, target.tag), kind);
    },
    async test(target) {
      const access = await readPostgresAccess(target.connection, target.readSecret, kind.port);
      const { session, client, serverVersion } = await open(access, target.tag);
      try {
        await requireSchema(client, access, kind);
      } finally {
        await session.close();
      }
      if (hasReadingCredential(target.connection))
        await (await openReading(target, `${target.tag}:read`)).close();
      return { serverVersion };
    },
    async endSession(target, left) {
      const access = await readPostgresAccess(target.connection, target.readSecret, kind.port);
      const { client, socket } = await openSession(access, rules, `${target.tag}:end`);
      const late = setTimeout(
        () => socket.destroy(new Error('the server did not answer')),
        cancelMilliseconds,
      );
      try {
        return await kind.end(client, left);
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
  { canUseSchema }: ServerKind,
): Promise<void> {
  if (schema === undefined) return;
  const isUsable = await canUseSchema(client, schema);
  if (isUsable === true) return;
  const fault = isUsable === false ? `may not be used by the role "${username}"` : 'does not exist';
  throw new Error(
    `the schema "${schema}" ${fault} in the database "${database}": create it, grant USAGE on it, or correct "schema" of the connection "${name}"`,
  );
}

/** A lost session is replaced by the next statement, unless something of it is missing then. */
function createConnection(
  first: PostgresSession,
  { connection: { name } }: ServedTarget,
  { bindsSecrets }: ServerKind,
  reopen: () => Promise<PostgresSession>,
): WarehouseConnection {
  let session = first;
  let hasState = false;
  let isClosed = false;

  async function getSession(): Promise<PostgresSession> {
    if (isClosed) throw new Error('this connection to the warehouse is closed');
    if (!session.isLost) return session;
    if (session.isInTransaction)
      throw new Error(
        `the connection "${name}" was lost in a transaction, which is rolled back: start the run again`,
      );
    if (hasState)
      throw new Error(
        `the connection "${name}" was lost, and with it the temporary tables and settings of this run: start the run again`,
      );
    await session.close();
    session = await reopen();
    return session;
  }

  async function execute(
    sql: string,
    limit?: AbortSignal,
    secret?: SecretSql,
  ): Promise<{ rowCount: number }> {
    const open = await getSession();
    const bound = bindsSecrets ? secret : undefined;
    const { rowCount } = await open.run({ sql, isQuery: false, limit, secret: bound, onRow: () => true });
    hasState ||= leavesState(sql);
    return { rowCount };
  }

  async function query(sql: string, maxRows: number, limit?: AbortSignal, secret?: SecretSql) {
    const open = await getSession();
    const rows: ReadRows['rows'] = [];
    let size = 0;
    let fault: Error | undefined;
    const { columns } = await open.run({
      sql,
      isQuery: true,
      limit,
      secret: bindsSecrets ? secret : undefined,
      onRow(row) {
        for (const cell of row) size += typeof cell === 'string' ? cell.length : 8;
        if (rows.length === maxRows)
          fault = new Error(`the query returns more than ${maxRows} rows: add a filter or a LIMIT`);
        else if (size > resultLimit)
          fault = new Error(
            `the query returns more than ${resultLimit} bytes: select fewer columns, or add a filter or a LIMIT`,
          );
        else rows.push(row);
        return fault === undefined;
      },
    });
    if (fault !== undefined) throw fault;
    return { columns, rows };
  }

  return {
    execute: (sql, _session, limit, secret) => execute(sql, limit, secret),
    query: (sql, maxRows, _session, limit, secret) => query(sql, maxRows, limit, secret),
    queryText: async (sql, maxRows, _session, limit, secret) =>
      JSON.stringify(await query(sql, maxRows, limit, secret)),
    copy: async (sql, file, _session, limit) => ({
      rowCount: await (await getSession()).copy(sql, file, limit),
    }),
    async close() {
      isClosed = true;
      await session.close();
    },
  };
}
