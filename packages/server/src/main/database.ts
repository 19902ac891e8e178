/**
 * What the server and the operator's commands open. The commands do not load the server: it takes most of their time.
 */
import { join } from 'node:path';
import type pg from 'pg';
import { type Database, openDatabase } from '../kernel/database/database.ts';
import type { FailureLog } from '../kernel/failure-log.ts';
import type { Config } from './config.ts';

const statementTimeoutMilliseconds = 60_000;
// Statements are prepared once and fetch few rows by an index. Planning for each set of values, and JIT
// compilation, cost more than they save; and pages are mostly in memory (docs/adr/0011).
export const planning = '-c plan_cache_mode=force_generic_plan -c random_page_cost=1.1 -c jit=off';

export function openDatabaseFor(config: Config, connection: pg.ClientConfig, failures: FailureLog): Database {
  return openDatabase({
    connection: { ...connection, statement_timeout: statementTimeoutMilliseconds, options: planning },
    connections: config.databaseConnections,
    patienceMilliseconds: config.databaseWaitMilliseconds,
    onConnectionError: (failure) =>
      failures.recordFailure('database connection', failure, 'lost a connection to the database'),
  });
}

/** The file of the master key, used without HEADGATE_MASTER_KEY. */
export function getMasterKeyFile(config: Config): string {
  return join(config.dataDirectory, 'master-key');
}
