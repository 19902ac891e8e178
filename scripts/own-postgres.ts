// A PostgreSQL in a temporary folder for a run of the tests, the fuzz or a benchmark.
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { migrate } from '../packages/server/src/kernel/database/migrate.ts';
import { decidePlaces } from '../packages/server/src/main/host/places.ts';
import { isRoot } from '../packages/server/src/main/host/process-users.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../packages/server/src/main/postgres/embedded-postgres.ts';
import { initializeDataDirectory } from '../packages/server/src/main/postgres/postgres-data-directory.ts';

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Settings for databases that are dropped anyway. Nothing waits for the disk, which takes most of the time of
 * a small test file, and there are connections for all the test files that a large machine runs at once.
 */
export const THROWAWAY_SETTINGS = { fsync: 'off', full_page_writes: 'off', max_connections: '1000' };

/**
 * The only setting that installations of tests do not share with a user's. A killed process loses nothing that it
 * wrote, with or without fsync; only a machine that fails does.
 */
const INSTALLATION_SETTINGS = { fsync: 'off' };

/**
 * Starts PostgreSQL and calls the work with the URL of its database `postgres` and the folder. Stops
 * PostgreSQL and removes the folder when the work ends, even if it fails.
 */
export async function onOwnPostgres<Result>(
  signal: AbortSignal,
  work: (url: string, folder: string) => Promise<Result>,
  settings: Record<string, string> = {},
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-test-'));
  try {
    const { server } = await startPostgresIn(folder, settings, signal);
    try {
      return await work(server.connectionUrl('postgres'), folder);
    } finally {
      await server.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Makes a data directory of PostgreSQL with all migrations, for installations to copy: initdb and the migrations
 * take half of the time of a first start. Returns its path.
 */
export async function prepareCluster(folder: string, signal: AbortSignal): Promise<string> {
  mkdirSync(folder);
  const { server, dataDirectory } = await startPostgresIn(folder, INSTALLATION_SETTINGS, signal);
  try {
    await migrate({ connectionString: server.connectionUrl() });
  } finally {
    await server.stop();
  }
  return dataDirectory;
}

async function startPostgresIn(
  folder: string,
  settings: Record<string, string>,
  signal: AbortSignal,
): Promise<{ server: EmbeddedPostgres; dataDirectory: string }> {
  // PostgreSQL runs as a user of its own below this folder.
  if (isRoot()) chmodSync(folder, 0o711);
  const { postgres } = decidePlaces({
    dataDirectory: join(folder, 'data'),
    checkout,
    embeddedPostgres: true,
    localAgent: false,
    stateDirectory: join(folder, 'state'),
  });
  if (!postgres) throw new Error('no place for PostgreSQL');
  await initializeDataDirectory(postgres, signal);
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
  appendFileSync(join(postgres.dataDirectory, 'postgresql.conf'), lines.join(''));
  const log = { info: () => {}, warn: console.error, error: console.error };
  const server = await startEmbeddedPostgres({ ...postgres, log, signal });
  return { server, dataDirectory: postgres.dataDirectory };
}
