/**
 * What SQL of a tenant may do inside DuckDB, in two layers; beneath them is what the operating system does
 * (`../confinement`):
 *
 * 1. Settings, locked once made: files only below the allowed folders, no network, no extension beyond those
 *    built in, bounded memory, threads and spill.
 *    (https://duckdb.org/docs/stable/operations_manual/securing_duckdb/overview)
 * 2. Kinds of statement, and DuckDB's functions that a statement may call: allow-lists,
 *    `duckdb-statement-kinds.ts` and `duckdb-functions.ts`.
 *
 * Reading an artifact is allowed and writing it is not: that is the mode of its sealed folders, hence never
 * as root.
 */
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import type { DatabaseSettings } from './duckdb-messages.ts';

/** Outside of the allowed folders, so that DuckDB refuses to install an extension before it downloads it. */
const noFolder = '/dev/null';

/** @throws DuckDB's error, for instance while another process has the file. */
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
  const allowed = settings.allowedFolders.map(quoted).join(', ');
  // DuckDB shows, but does not keep, a limit that is given at the opening.
  await connection.run(`set max_temp_directory_size = '${settings.temporaryMegabytes}MiB'`);
  // In this order: external access cannot be given back, and nothing can be set after the lock.
  await connection.run(`set allowed_directories = [${allowed}]`);
  await connection.run('set enable_external_access = false');
  await connection.run('set lock_configuration = true');
  connection.closeSync();
  return instance;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/**
 * @throws Error when the database no longer answers: a statement broke it for everybody, and only a new
 * process helps.
 */
export async function checkHealth(connection: DuckDBConnection): Promise<void> {
  await connection.run('select 1');
}
