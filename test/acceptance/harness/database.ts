/** The database of an installation, and a PostgreSQL outside of any installation. */
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { decidePlaces } from '../../../packages/server/src/main/host/places.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../../packages/server/src/main/postgres/embedded-postgres.ts';
import { checkout, type Installation, isRoot } from './installation.ts';

/** Uses the folders of an installation that never starts. */
export async function startDatabase({ folder }: Installation): Promise<EmbeddedPostgres> {
  const stateDirectory = join(folder, 'state');
  mkdirSync(stateDirectory);
  if (isRoot) chmodSync(stateDirectory, 0o711);
  const { postgres } = decidePlaces({
    dataDirectory: join(folder, 'theirs'),
    stateDirectory,
    checkout,
    embeddedPostgres: true,
    localAgent: false,
  });
  if (postgres === undefined) throw new Error('no place for PostgreSQL');
  const log = { info: () => {}, warn: console.error, error: console.error };
  return startEmbeddedPostgres({ ...postgres, log });
}

type Query = <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) => Promise<Row[]>;

/** Connects to the socket that the start has printed. */
export async function onDatabaseOf<Result>(of: Installation, work: (query: Query) => Promise<Result>) {
  const host = of.output.match(/PostgreSQL socket: (.*)/)?.[1];
  const client = new pg.Client({ host, user: 'headgate', database: 'headgate' });
  // A connection that breaks fails the statement under way; without a listener it would end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(async (text, values = []) => (await client.query(text, values)).rows);
  } finally {
    await client.end();
  }
}
