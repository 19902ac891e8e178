/**
 * Confines users' SQL inside DuckDB in two layers, on top of the operating system's (`../confinement`):
 *
 * 1. Locked settings: files only in the allowed folders, no network, only built-in extensions, and limits on
 *    memory, threads and spilling to disk.
 *    (https://duckdb.org/docs/stable/operations_manual/securing_duckdb/overview)
 * 2. Allow-lists of statement types and of DuckDB's functions, `duckdb-statement-kinds.ts` and
 *    `duckdb-functions.ts`.
 *
 * SQL can read artifacts but not write them, because of the mode of their folders. This needs a user other
 * than root.
 */
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import type { DatabaseSettings } from './duckdb-messages.ts';

/** Outside the allowed folders, so that DuckDB refuses to install an extension before downloading it. */
const noFolder = '/dev/null';

/** Settings by which DuckDB does as Snowflake and Redshift do. */
export const behaviour = {
  /** NULL sorts as the largest value. */
  default_null_order: 'nulls_last_on_asc_first_on_desc',
  /** A number or date is a text where a text is needed, and a text beside a number is compared as a number. */
  old_implicit_casting: 'true',
} as const;

/** @throws DuckDB's error, for example if another process has the file open. */
export async function openConfined(settings: DatabaseSettings): Promise<DuckDBInstance> {
  const instance = await DuckDBInstance.create(settings.databaseFile, {
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
    allow_persistent_secrets: 'false',
    temp_directory: settings.temporaryFolder,
    extension_directory: noFolder,
    secret_directory: noFolder,
    memory_limit: `${settings.memoryMegabytes}MiB`,
    threads: String(settings.threads),
  });
  const connection = await instance.connect();
  const allowed = settings.allowedFolders.map(quoteText).join(', ');
  // DuckDB ignores this limit if it is given when the database is opened.
  await connection.run(`set max_temp_directory_size = '${settings.temporaryMegabytes}MiB'`);
  for (const [name, value] of Object.entries(behaviour)) await connection.run(`set ${name} = '${value}'`);
  // The order matters: external access cannot be enabled again, and nothing can be set after the lock.
  await connection.run(`set allowed_directories = [${allowed}]`);
  await connection.run('set enable_external_access = false');
  await connection.run('set lock_configuration = true');
  connection.closeSync();
  return instance;
}

function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** @throws Error if a statement broke the database for all connections, so that it needs a new process. */
export async function checkHealth(connection: DuckDBConnection): Promise<void> {
  await connection.run('select 1');
}
