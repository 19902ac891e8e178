/**
 * The places and the database of this installation, for the server and the operator's commands: the
 * embedded PostgreSQL, or the database of DATABASE_URL.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { createGit } from '../../delivery/git/index.ts';
import { isUnavailable } from '../../kernel/database/database.ts';
import { type Log, silentLog } from '../../kernel/log.ts';
import type { HostedFolder } from '../backup/repositories.ts';
import type { Config } from '../config.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../postgres/embedded-postgres.ts';
import { decidePlaces, type Places } from './places.ts';

const checkout = fileURLToPath(new URL('../../../../..', import.meta.url));

export function decidePlacesFor(config: Config): Places {
  return decidePlaces({
    dataDirectory: config.dataDirectory,
    checkout,
    embeddedPostgres: config.databaseUrl === undefined,
    localAgent: config.localAgent,
    postgresUser: config.postgresUser,
    agentUser: config.agentUser,
    gitUser: config.git.user,
    repositoriesFolder: config.git.repositoriesFolder,
  });
}

/** The hosted repositories, for a command that may run beside the server: with a folder of its own for git. */
export function openHostedFolder(config: Config, stopping: AbortSignal): HostedFolder {
  const { directory, user } = decidePlacesFor(config).git;
  const { searchPath, mostBytes } = config.git;
  const processes = { ofServer: 2, ofAccount: 2 };
  const folder = join(directory, 'backup');
  const git = createGit({ folder, user, searchPath, mostBytes, processes, log: silentLog, stopping });
  return { git, path: config.git.repositoriesFolder ?? join(directory, 'repositories') };
}

export interface OpenedDatabase {
  connection: pg.ClientConfig;
  /** Undefined with DATABASE_URL. */
  postgres: EmbeddedPostgres | undefined;
}

/**
 * Explains a failure of the DATABASE_URL database. The URL may hold a password, so the message does not
 * repeat it.
 */
export function explainDatabase(config: Config, failure: unknown): unknown {
  if (config.databaseUrl === undefined) return failure;
  const code = failure instanceof Error && 'code' in failure ? String(failure.code) : '';
  // SQLSTATE 28 and 3D: wrong user or password, or no such database.
  if (!isUnavailable(failure) && !/^(28|3D)/.test(code)) return failure;
  const { hostname, port } = new URL(config.databaseUrl);
  const where = hostname === '' ? '' : ` at ${hostname}:${port || 5432}`;
  const reason = isUnavailable(failure)
    ? `it cannot be reached (${code || 'no answer'})`
    : (failure as Error).message;
  return new Error(
    `DATABASE_URL: cannot use the database${where}: ${reason}. Check the address, and that PostgreSQL runs there.`,
  );
}

export async function startDatabase(
  config: Config,
  places: Places,
  log: Log,
  signal?: AbortSignal,
): Promise<OpenedDatabase> {
  if (places.postgres === undefined)
    return { connection: { connectionString: config.databaseUrl }, postgres: undefined };
  const postgres = await startEmbeddedPostgres({ ...places.postgres, log, signal });
  return { connection: { connectionString: postgres.connectionUrl() }, postgres };
}
