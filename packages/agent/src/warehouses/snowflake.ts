/**
 * Snowflake as a warehouse: a session for each session of a run. The agent itself connects, because the processes of
 * runs have no network.
 */
import { createEgress, type EgressAllow, type Resolve } from '@headgate/contract/egress';
import { lexicalRules } from '@headgate/pipelines/sql-tokens';
import { createExchange } from '../connectors/exchange.ts';
import { realTime } from '../time.ts';
import type { SessionRecords } from './left-sessions.ts';
import { guardScratch, isScratchOf, nameScratchSchema } from './served/scratch-schema.ts';
import { createServedConnection } from './served/served-connection.ts';
import { leavesState } from './session-state.ts';
import {
  hasReadingKey,
  readReadingAccess,
  readSnowflakeAccess,
  type SnowflakeAccess,
} from './snowflake/snowflake-access.ts';
import { type CallTime, createSnowflakeCalls } from './snowflake/snowflake-calls.ts';
import {
  createScratchSchema,
  dropScratchSchema,
  type SnowflakeScratch,
  useScratchSchema,
} from './snowflake/snowflake-scratch.ts';
import { SnowflakeSession } from './snowflake/snowflake-session.ts';
import { signIn } from './snowflake/snowflake-sign-in.ts';
import { changesSession } from './snowflake/snowflake-sql.ts';
import { createReadingConnection, requireReadOnlyRole } from './snowflake-reading.ts';
import type { ServedDriver, ServedTarget } from './warehouse.ts';

/** The server holds a request for 45 s while a statement runs. */
const bounds = {
  responseBytes: 256 * 1_048_576,
  advice: '',
  answerMilliseconds: 90_000,
  idleMilliseconds: 30_000,
  totalMilliseconds: 600_000,
};

/** To sign in, and for a cancelled statement to end. */
const standardLimits = { signInMilliseconds: 30_000, cancelMilliseconds: 10_000 };

export interface SnowflakeOptions {
  allow: EgressAllow;
  resolve?: Resolve;
  /** Of the control plane, which no connection may reach. */
  serverUrl?: string;
  /** Of open sessions; absent: none are kept. */
  records?: SessionRecords;
  time?: CallTime;
  limits?: Partial<typeof standardLimits>;
}

export function createSnowflakeDriver({
  allow,
  resolve,
  serverUrl,
  records,
  time = { ...realTime, date: () => new Date() },
  limits,
}: SnowflakeOptions): ServedDriver {
  const egress = createEgress({
    allow,
    setting: 'HEADGATE_AGENT_EGRESS_ALLOW',
    operator: 'the operator of the agent',
    resolve,
  });

  function refuseOwnServer({ name, origin }: SnowflakeAccess): void {
    if (serverUrl !== undefined && URL.parse(serverUrl)?.host === origin.host)
      throw new Error(
        `the host ${origin.host} of the connection "${name}" is that of the Headgate server: name that of a Snowflake account`,
      );
  }

  async function open(access: SnowflakeAccess, tag: string) {
    refuseOwnServer(access);
    // Each session has its own connections, so that a request to cancel never waits for a statement.
    const calls = createSnowflakeCalls(createExchange(egress, bounds), access.origin, time);
    try {
      const { signInMilliseconds: milliseconds, cancelMilliseconds } = { ...standardLimits, ...limits };
      const signedIn = await signIn(access, calls, time, { tag, milliseconds });
      const { name } = access;
      const session = new SnowflakeSession({ name, calls, signedIn, time, cancelMilliseconds });
      return { session, ...signedIn };
    } catch (failure) {
      calls.close();
      throw failure;
    }
  }

  const createRecord = ({ tag, connection, places }: ServedTarget, sessionId: string) =>
    ({
      kind: 'snowflake',
      tag,
      processId: sessionId,
      startedAt: '',
      connection,
      places: Object.fromEntries(places),
    }) as const;

  async function openRecorded(access: SnowflakeAccess, target: ServedTarget) {
    const { session, sessionId } = await open(access, target.tag);
    const forget = await records?.add(createRecord(target, sessionId)).catch(async (failure) => {
      await session.close();
      throw failure;
    });
    if (forget !== undefined) session.onClose(forget);
    return session;
  }

  /** The user of runs can see and end their statements, whatever its role is. */
  async function openReading({ connection, readSecret }: ServedTarget, tag: string) {
    const access = await readReadingAccess(connection, readSecret);
    const { username: runUser } = await readSnowflakeAccess(connection, readSecret);
    const { session } = await open(access, tag);
    try {
      await requireReadOnlyRole(session, access, runUser);
    } catch (failure) {
      await session.close();
      throw failure;
    }
    return session;
  }

  /** For a few statements of the agent itself. */
  async function openBriefly<T>(
    access: SnowflakeAccess,
    tag: string,
    work: (session: SnowflakeSession) => Promise<T>,
  ): Promise<T> {
    const { session } = await open(access, tag);
    try {
      return await work(session);
    } finally {
      await session.close();
    }
  }

  /** The record comes before the schema, so that whatever dies, a start of the agent finds both. */
  async function openScratch(target: ServedTarget) {
    const { connection, readSecret, tag } = target;
    const access = await readReadingAccess(connection, readSecret);
    const run = await readSnowflakeAccess(connection, readSecret);
    const { name, database, role } = access;
    if (database === undefined)
      throw new Error(
        `the connection "${name}" has no "database": set it to that in which tests get a schema`,
      );
    const place: SnowflakeScratch = { database, schema: nameScratchSchema(tag).toUpperCase() };
    const { session, sessionId } = await open({ ...access, schema: undefined }, tag);
    const change = (work: (session: SnowflakeSession) => Promise<void>) =>
      openBriefly({ ...run, schema: undefined }, `${tag}:scratch`, work);
    try {
      await requireReadOnlyRole(session, access, run.username, true);
      const forget = await records?.add({ ...createRecord(target, sessionId), scratch: place.schema });
      let dropping: Promise<void> | undefined;
      session.onClose(() => {
        dropping ??= change((other) => dropScratchSchema(other, place)).then(forget);
        return dropping;
      });
      await change((other) => createScratchSchema(other, place, run, role ?? ''));
      await useScratchSchema(session, place);
    } catch (failure) {
      await session.close();
      throw failure;
    }
    return { session, schema: place.schema, name };
  }

  return {
    async connectScratch(target) {
      const { session, schema, name } = await openScratch(target);
      const warehouse = createServedConnection(session, {
        name,
        bindsSecrets: true,
        leavesState: () => true,
        reopen: () => Promise.reject(new Error(`the connection "${name}" was lost: start the test again`)),
      });
      return { warehouse: guardScratch(warehouse, lexicalRules.snowflake), schema };
    },
    async connect(target) {
      const access = await readSnowflakeAccess(target.connection, target.readSecret);
      return createServedConnection(await openRecorded(access, target), {
        name: access.name,
        bindsSecrets: true,
        leavesState: (sql) => changesSession(sql) || leavesState(sql),
        reopen: () => openRecorded(access, target),
      });
    },
    async connectReading(target) {
      return createReadingConnection(await openReading(target, target.tag));
    },
    async test(target) {
      const access = await readSnowflakeAccess(target.connection, target.readSecret);
      const { session, serverVersion } = await open(access, target.tag);
      try {
        // The warehouse starts, as it would for a run.
        await session.run({
          sql: 'SELECT 1',
          isQuery: true,
          limit: undefined,
          secret: undefined,
          onRow: () => true,
        });
      } finally {
        await session.close();
      }
      if (hasReadingKey(target.connection)) await (await openReading(target, `${target.tag}:read`)).close();
      return { serverVersion };
    },
    async endSession(target, left) {
      const { connection, readSecret } = target;
      const run = await readSnowflakeAccess(connection, readSecret);
      const { scratch: schema } = left;
      const end = (access: SnowflakeAccess) =>
        openBriefly(access, `${target.tag}:end`, (session) =>
          endLeftSession(session, String(left.processId), left.tag),
        );
      if (schema === undefined) return end(run);
      const { database } = run;
      if (!isScratchOf(left.tag, schema) || database === undefined) return false;
      await end(await readReadingAccess(connection, readSecret));
      await openBriefly({ ...run, schema: undefined }, `${target.tag}:end`, (session) =>
        dropScratchSchema(session, { database, schema }),
      );
      return true;
    },
  };
}

/** Only a session of the same user whose last statements have the tag. Returns whether there was one. */
async function endLeftSession(session: SnowflakeSession, id: string, tag: string): Promise<boolean> {
  if (!/^\d{1,20}$/.test(id)) return false;
  let isOwn = false;
  const query = { isQuery: true, limit: undefined, secret: undefined } as const;
  await session.run({
    ...query,
    sql: `SELECT COUNT(*) FROM TABLE(INFORMATION_SCHEMA.QUERY_HISTORY_BY_SESSION(SESSION_ID => ${id})) WHERE user_name = CURRENT_USER() AND query_tag = '${tag.replaceAll("'", "''")}'`,
    onRow([count]) {
      isOwn = Number(count) > 0;
      return true;
    },
  });
  if (!isOwn) return false;
  await session.run({ ...query, sql: `SELECT SYSTEM$CANCEL_ALL_QUERIES(${id})`, onRow: () => true });
  await session.run({ ...query, sql: `SELECT SYSTEM$ABORT_SESSION(${id})`, onRow: () => true });
  return true;
}
