/** The server of a test file, on its own database. */
import { after } from 'node:test';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { openTestServer, type TestServer, type TestServerOptions } from './open-server.ts';

const serversOn = new WeakMap<TestDatabase, TestServer[]>();

/**
 * Starts a server on a database of its own, and closes it after the tests of the file or suite that starts it.
 * With the `database` of another server it shares that one's, and closes before it.
 */
export async function startTestServer({
  database: shared,
  ...options
}: TestServerOptions & { database?: TestDatabase } = {}): Promise<TestServer> {
  const database = shared ?? (await createOwnDatabase());
  const server = await openTestServer(database, options);
  serversOn.get(database)?.push(server);
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
