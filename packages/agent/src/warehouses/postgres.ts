/**
 * PostgreSQL as a warehouse: a session of the server for each session of a run. The agent itself connects, because the
 * processes of runs have no network.
 */

import { createEgress, type EgressAllow, type Resolve } from '@headgate/contract/egress';
import { lexicalRules } from '@headgate/pipelines/sql-tokens';
import type { Client } from 'pg';
import type { SessionRecords } from './left-sessions.ts';
import {
  hasReadingCredential,
  type PostgresAccess,
  type RefusedCluster,
  readPostgresAccess,
  readReadingAccess,
} from './postgres/postgres-access.ts';
import { openSession } from './postgres/postgres-connect.ts';
import { createScratchSchema, dropScratchSchema, requireNoWrites } from './postgres/postgres-scratch.ts';
import { postgresServer } from './postgres/postgres-server.ts';
import { PostgresSession } from './postgres/postgres-session.ts';
import type { PreparedSession, ServerKind } from './postgres/server-kind.ts';
import { createReadingConnection } from './postgres-reading.ts';
import { guardScratch, isScratchOf, nameScratchSchema } from './served/scratch-schema.ts';
import { createServedConnection } from './served/served-connection.ts';
import { leavesState } from './session-state.ts';
import type { ServedDriver, ServedTarget } from './warehouse.ts';

/** How long the server may take to pass on that a statement is cancelled. */
const cancelMilliseconds = 5_000;
/** To create or drop the schema of a test. It may wait for statements of the session before. */
const schemaMilliseconds = 60_000;

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

  /** A session for a few statements of the agent itself, within a time. */
  async function openBriefly<T>(
    access: PostgresAccess,
    tag: string,
    milliseconds: number,
    work: (client: Client) => Promise<T>,
  ): Promise<T> {
    const { client, socket } = await openSession(access, rules, tag);
    const late = setTimeout(() => socket.destroy(new Error('the server did not answer')), milliseconds);
    try {
      return await work(client);
    } finally {
      clearTimeout(late);
      await client.end();
    }
  }

  const createRecord = ({ tag, connection, places }: ServedTarget, session: PreparedSession) => ({
    kind: kind.name,
    tag,
    processId: session.processId,
    startedAt: session.startedAt,
    connection,
    places: Object.fromEntries(places),
  });

  async function openRecorded(access: PostgresAccess, target: ServedTarget) {
    const { session, ...prepared } = await open(access, target.tag);
    const { startedAt } = prepared;
    const record = createRecord(target, prepared);
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

  /** The record comes before the schema, so that whatever dies, a start of the agent finds both. */
  async function openScratch(target: ServedTarget) {
    const { connection, readSecret, tag } = target;
    const schema = nameScratchSchema(tag);
    const access = await readReadingAccess(connection, readSecret, kind.port);
    const run = await readPostgresAccess(connection, readSecret, kind.port);
    const { session, client, ...prepared } = await open({ ...access, schema: undefined }, tag);
    const change = (work: (client: Client) => Promise<void>) =>
      openBriefly({ ...run, schema: undefined }, `${tag}:scratch`, schemaMilliseconds, work);
    try {
      await kind.requireReadOnlyRole(client, access, run.username);
      await requireNoWrites(client, access, kind.writes);
      const forget = await records?.add({ ...createRecord(target, prepared), scratch: schema });
      let dropping: Promise<void> | undefined;
      session.onClose(() => {
        dropping ??= change((other) => dropScratchSchema(other, schema)).then(forget);
        return dropping;
      });
      await change((other) => createScratchSchema(other, schema, run, access.username));
      await client.query(`set search_path to ${client.escapeIdentifier(schema)}, public`);
    } catch (failure) {
      await session.close();
      throw failure;
    }
    return { session, schema, name: access.name };
  }

  return {
    async connectScratch(target) {
      const { session, schema, name } = await openScratch(target);
      const warehouse = createServedConnection(session, {
        name,
        bindsSecrets: kind.bindsSecrets,
        leavesState: () => true,
        reopen: () => Promise.reject(new Error(`the connection "${name}" was lost: start the test again`)),
      });
      return { warehouse: guardScratch(warehouse, lexicalRules[kind.name]), schema };
    },
    async connect(target) {
      const access = await readPostgresAccess(target.connection, target.readSecret, kind.port);
      const first = await openRecorded(access, target);
      return createServedConnection(first, {
        name: access.name,
        bindsSecrets: kind.bindsSecrets,
        leavesState,
        reopen: () => openRecorded(access, target),
      });
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
      const { connection, readSecret } = target;
      const tag = `${target.tag}:end`;
      const run = await readPostgresAccess(connection, readSecret, kind.port);
      const { scratch } = left;
      if (scratch === undefined)
        return openBriefly(run, tag, cancelMilliseconds, (client) => kind.end(client, left));
      if (!isScratchOf(left.tag, scratch)) return false;
      const reading = await readReadingAccess(connection, readSecret, kind.port);
      await openBriefly(reading, tag, cancelMilliseconds, (client) => kind.end(client, left));
      await openBriefly({ ...run, schema: undefined }, tag, schemaMilliseconds, (client) =>
        dropScratchSchema(client, scratch),
      );
      return true;
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
