/**
 * A database for each test file, cloned from a template that is migrated once per run.
 *
 * The template is named by a digest of the migrations, created under another name and renamed when it is
 * complete. Test files that start at the same time wait for each other with an advisory lock.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../src/kernel/database/migrate.ts';

const migrations = join(import.meta.dirname, '../migrations');
const templateLock = 7_203_119;

export interface TestDatabase {
  connection: pg.ClientConfig;
  url: string;
  /** Runs SQL as superuser, independently of the server. */
  query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  drop(): Promise<void>;
}

export async function createTestDatabase(): Promise<TestDatabase> {
  const name = makeName();
  await administer(async (client) => {
    const template = await ensureTemplate(client);
    // To copy the files takes half of the processor time of the default, which logs each page.
    await client.query(`create database ${name} template ${template} strategy file_copy`);
  });
  return openDatabase(name);
}

/** Without migrations, as before the first start of a server. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  const name = makeName();
  await administer((client) => client.query(`create database ${name}`));
  return openDatabase(name);
}

function makeName(): string {
  return `headgate_test_${process.pid}_${randomBytes(4).toString('hex')}`;
}

function openDatabase(name: string): TestDatabase {
  const url = renderAddress(name);
  const connection = { connectionString: url };
  const pool = new pg.Pool({ ...connection, max: 4 });
  // Dropping the database ends its connections.
  pool.on('error', () => undefined);
  return {
    connection,
    url,
    async query<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) {
      const { rows } = await pool.query<Row>(text, [...values]);
      return rows;
    },
    async drop() {
      await pool.end();
      await administer((client) => client.query(`drop database ${name} with (force)`));
    },
  };
}

/** They do not change while this process runs. */
let digestOfMigrations: Promise<string> | undefined;

async function ensureTemplate(client: pg.Client): Promise<string> {
  digestOfMigrations ??= digestMigrations();
  const name = `headgate_template_${await digestOfMigrations}`;
  await client.query('select pg_advisory_lock($1)', [templateLock]);
  try {
    const found = await client.query('select from pg_database where datname = $1', [name]);
    if (found.rowCount === 0) {
      const draft = `${name}_draft`;
      await client.query(`drop database if exists ${draft}`);
      await client.query(`create database ${draft}`);
      await migrate({ connectionString: renderAddress(draft) });
      await client.query(`alter database ${draft} rename to ${name}`);
    }
    return name;
  } finally {
    await client.query('select pg_advisory_unlock($1)', [templateLock]);
  }
}

async function digestMigrations(): Promise<string> {
  const digest = createHash('sha256');
  const files = (await readdir(migrations, { recursive: true })).filter((file) => file.endsWith('.sql'));
  for (const file of files.sort()) digest.update(await readFile(join(migrations, file)));
  return digest.digest('hex').slice(0, 16);
}

async function administer(work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: renderAddress('postgres') });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

function renderAddress(database: string): string {
  const address = process.env.HEADGATE_TEST_DATABASE_URL;
  if (address === undefined)
    throw new Error('HEADGATE_TEST_DATABASE_URL is not set: run the tests with `npm test`.');
  const url = new URL(address);
  url.pathname = `/${database}`;
  return url.href;
}
