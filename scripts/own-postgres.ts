// A PostgreSQL in a temporary folder, for as long as some work takes: of a run of the tests, or of the fuzz.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { decidePlaces } from '../packages/server/src/main/host/places.ts';
import { isRoot } from '../packages/server/src/main/host/process-users.ts';
import { startEmbeddedPostgres } from '../packages/server/src/main/postgres/embedded-postgres.ts';

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));

/** Starts it, gives the address of its database `postgres` and the folder to the work, and stops and removes it whatever happens. */
export async function onOwnPostgres<Result>(
  signal: AbortSignal,
  work: (url: string, folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-test-'));
  // PostgreSQL's own user passes through it.
  if (isRoot()) chmodSync(folder, 0o711);
  try {
    const { postgres } = decidePlaces({
      dataDirectory: join(folder, 'data'),
      checkout,
      embeddedPostgres: true,
      localAgent: false,
      stateDirectory: join(folder, 'state'),
    });
    if (!postgres) throw new Error('no place for PostgreSQL');
    const log = { info: () => {}, warn: console.error, error: console.error };
    const server = await startEmbeddedPostgres({ ...postgres, log, signal });
    try {
      return await work(server.connectionUrl('postgres'), folder);
    } finally {
      await server.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
