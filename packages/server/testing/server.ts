/** The server of a test file, on its own database. */
import { after } from 'node:test';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { openTestServer, type TestServer, type TestServerOptions } from './open-server.ts';

/** For tests in which an agent answers a request: a busy machine must not use up the time for it. */
export const patientRequests = { settings: { HEADGATE_SECRET_WAIT_SECONDS: '120' } };

const momentMilliseconds = 100;
const serversOn = new WeakMap<TestDatabase, TestServer[]>();

/**
 * Starts a server on a database of its own, and closes it after the tests of the file or suite that starts it.
 * With the `database` of another server it shares that one's, and closes before it. Its clock starts a moment
 * after that one's, even if the machine took long to start it: what that one saw is not old for it.
 */
export async function startTestServer({
  database: shared,
  ...options
}: TestServerOptions & { database?: TestDatabase } = {}): Promise<TestServer> {
  const database = shared ?? (await createOwnDatabase());
  const servers = serversOn.get(database) ?? [];
  const [first] = servers;
  const startsAt = first && new Date(first.startedAt.getTime() + servers.length * momentMilliseconds);
  const server = await openTestServer(database, { ...(startsAt && { startsAt }), ...options });
  servers.push(server);
  return server;
}

async function createOwnDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  const servers: TestServer[] = [];
  serversOn.set(database, servers);
  after(async () => {
    for (const server of servers.toReversed()) await server.close();
    await database.drop();
  });
  return database;
}
