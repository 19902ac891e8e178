/**
 * What SQL of a tenant may do inside DuckDB, in two layers:
 *
 * 1. Settings, locked once made: files only below the allowed folders, no network, no extension beyond those built in, bounded memory,
 *    threads and spill. (https://duckdb.org/docs/stable/operations_manual/securing_duckdb/overview)
 * 2. Kinds of statement: those that change what is attached or loaded, that reconfigure, or that hide another statement are refused, for within an
 *    allowed folder the settings would let them pass.
 *
 * Reading an artifact is allowed and writing it is not: that is the mode of its sealed folders, hence never as root.
 */
import { type DuckDBConnection, DuckDBInstance, StatementType } from '@duckdb/node-api';
import type { DatabaseSettings } from './duckdb-messages.ts';

/** @throws DuckDB's error, for instance while another process has the file. */
export async function openConfined(settings: DatabaseSettings): Promise<DuckDBInstance> {
  const instance = await DuckDBInstance.create(settings.databaseFile, {
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
    allow_persistent_secrets: 'false',
    temp_directory: settings.temporaryFolder,
    max_temp_directory_size: `${settings.temporaryMegabytes}MiB`,
    extension_directory: settings.temporaryFolder,
    secret_directory: settings.temporaryFolder,
    memory_limit: `${settings.memoryMegabytes}MiB`,
    threads: String(settings.threads),
  });
  const connection = await instance.connect();
  const allowed = settings.allowedFolders.map(quoted).join(', ');
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

const refusedStatements: ReadonlyMap<StatementType, string> = new Map([
  [StatementType.ATTACH, 'ATTACH'],
  [StatementType.DETACH, 'DETACH'],
  [StatementType.COPY_DATABASE, 'COPY FROM DATABASE'],
  [StatementType.LOAD, 'INSTALL and LOAD'],
  [StatementType.EXTENSION, 'an extension’s statement'],
  [StatementType.UPDATE_EXTENSIONS, 'UPDATE EXTENSIONS'],
  [StatementType.PRAGMA, 'PRAGMA'],
  [StatementType.PREPARE, 'PREPARE'],
  [StatementType.EXECUTE, 'EXECUTE'],
]);

/** @throws Error naming the kind of statement, when a pipeline may not use it. */
export function refuseForbidden(type: StatementType): void {
  const name = refusedStatements.get(type);
  if (name)
    throw new Error(`${name} is not allowed in this warehouse: its configuration belongs to the agent`);
}

/** @throws Error when the database no longer answers: a statement broke it for everybody, and only a new process helps. */
export async function checkHealth(connection: DuckDBConnection): Promise<void> {
  await connection.run('select 1');
}
