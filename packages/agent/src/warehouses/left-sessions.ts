/**
 * Sessions with served warehouses that the agent left behind when it was killed. A file for each open session says how
 * to reach it, without secrets. The next start of the agent ends those sessions, and no others.
 */
import { randomUUID } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Secret, SecretCoordinates, WarehouseConnectionValues } from '@headgate/contract';
import { makePrivateFolder } from '../host/folders.ts';
import { readPrivateFile, writeWithoutSync } from '../host/private-file.ts';
import { getReason, type Log } from '../log.ts';
import type { ServerSession } from './postgres/server-kind.ts';
import { nameSecret, type ServedDriver, type ServedKind } from './warehouse.ts';

interface LeftSession extends ServerSession {
  /** Absent: PostgreSQL, in a record of an earlier agent. */
  kind?: ServedKind;
  connection: WarehouseConnectionValues;
  /** Where the secrets of the connection are, by `nameSecret`. */
  places: Record<string, SecretCoordinates>;
}

export interface SessionRecords {
  /** Before the first statement of a session. Returns what removes the record. */
  add(session: LeftSession): Promise<() => Promise<void>>;
}

export function createSessionRecords(folder: string): SessionRecords {
  return {
    async add(session) {
      await makePrivateFolder(folder);
      const path = join(folder, `${randomUUID()}.json`);
      await writeWithoutSync(path, JSON.stringify(session));
      return () => rm(path, { force: true });
    },
  };
}

export interface LeftSessionsOptions {
  drivers: Readonly<Record<ServedKind, Pick<ServedDriver, 'endSession'>>>;
  readSecret(at: SecretCoordinates): Promise<Secret>;
  log: Log;
}

/** Records of servers that cannot be reached are tried again at each start. */
const recordMilliseconds = 86_400_000;
/** What a test left takes space in the warehouse until it is dropped. */
const scratchMilliseconds = 30 * recordMilliseconds;

/** Call it before the first session of this agent. Never rejects. */
export async function listLeftSessions(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => name.endsWith('.json')).map((name) => join(folder, name));
}

/** Never rejects. */
export async function endLeftSessions(paths: readonly string[], options: LeftSessionsOptions): Promise<void> {
  // A server that does not answer must not hold up the others.
  const byServer = new Map<string, { path: string; left: LeftSession }[]>();
  for (const path of paths) {
    const left = await readLeft(path);
    if (left === undefined) await rm(path, { force: true }).catch(() => undefined);
    else {
      const key = JSON.stringify([left.kind, left.connection]);
      byServer.set(key, [...(byServer.get(key) ?? []), { path, left }]);
    }
  }
  await Promise.all(
    [...byServer.values()].map(async (sessions) => {
      for (const { path, left } of sessions) await endOne(path, left, options);
    }),
  );
}

async function endOne(
  path: string,
  left: LeftSession,
  { drivers, readSecret, log }: LeftSessionsOptions,
): Promise<void> {
  const { kind = 'postgres', connection, places, ...session } = left;
  try {
    const target = {
      connection,
      tag: session.tag,
      places: new Map<string, SecretCoordinates>(),
      readSecret(name: string, key?: string) {
        const at = places[nameSecret(name, key)];
        if (at === undefined) throw new Error(`the place of the secret reference "${name}" is not known`);
        return readSecret(at);
      },
    };
    if (await drivers[kind].endSession(target, session))
      log.info('ended a session that a killed agent had left in a warehouse', {
        connection: connection.name,
        session: session.tag,
      });
    await rm(path, { force: true });
  } catch (failure) {
    log.warn('a session that a killed agent may have left in a warehouse could not be ended', {
      connection: connection.name,
      session: session.tag,
      reason: getReason(failure),
    });
  }
}

/** Undefined if the record is damaged or too old. */
async function readLeft(path: string): Promise<LeftSession | undefined> {
  try {
    const left = JSON.parse(String(await readPrivateFile(path))) as LeftSession;
    const longest = left.scratch === undefined ? recordMilliseconds : scratchMilliseconds;
    return (await stat(path)).mtimeMs + longest < Date.now() ? undefined : left;
  } catch {
    return undefined;
  }
}
