/** The database of an installation. */
import pg from 'pg';
import type { Installation } from './installation.ts';

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
