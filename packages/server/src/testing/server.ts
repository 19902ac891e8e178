/** The server of a test file, on its own database. */
import { after } from 'node:test';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { openTestServer, type TestServer, type TestServerOptions } from './open-server.ts';

const opened: TestServer[] = [];
let shared: Promise<TestDatabase> | undefined;
after(async () => {
  for (const server of opened.reverse()) await server.close();
  await (await shared)?.drop();
});

/** Starts a server on the database of this test file, and closes it after the file's tests. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  shared ??= createTestDatabase();
  const server = await openTestServer(await shared, options);
  opened.push(server);
  return server;
}
