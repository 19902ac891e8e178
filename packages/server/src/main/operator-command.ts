/**
 * What the operator's commands share: the database of the running installation, or, when nothing runs, of one
 * started for the moment.
 */
import type pg from 'pg';
import { systemClock } from '../kernel/clock.ts';
import { createFailureLog } from '../kernel/failure-log.ts';
import { uuidsByTime } from '../kernel/identifiers.ts';
import { silentLog } from '../kernel/log.ts';
import { migrate } from '../kernel/migrate.ts';
import { createSealer, loadMasterKey } from '../kernel/sealed.ts';
import { type Config, loadConfig } from './config.ts';
import { masterKeyFile, openDatabaseOf } from './deps.ts';
import { explainDatabase, placesOf, startDatabase } from './installation.ts';
import { takeInstanceLock } from './instance-lock.ts';
import type { ProvisioningServices } from './provisioning.ts';

type Command = (services: ProvisioningServices, config: Config) => Promise<void>;

/** Runs a command on the migrated database and ends the process. */
export async function runOperatorCommand(command: Command): Promise<void> {
  const config = loadConfigOrExit();
  await runToEnd(() => onDatabase(config, (connection) => withServices(config, connection, command)));
}

/** The settings; bad ones are named, and end the process. */
export function loadConfigOrExit(): Config {
  try {
    return loadConfig();
  } catch (failure) {
    return exitWith(failure);
  }
}

/** Runs `work` and ends the process; a failure is one line, and the exit code 1. */
export async function runToEnd(work: () => Promise<void>): Promise<never> {
  try {
    await work();
  } catch (failure) {
    exitWith(failure);
  }
  process.exit(0);
}

function exitWith(failure: unknown): never {
  console.error(failure instanceof Error ? failure.message : failure);
  process.exit(1);
}

/**
 * Whoever has the lock runs the embedded database: a server, which is then asked on its socket, or this
 * command.
 */
export async function onDatabase(
  config: Config,
  work: (connection: pg.ClientConfig) => Promise<void>,
): Promise<void> {
  const places = placesOf(config);
  const { postgres } = places;
  const lock =
    postgres === undefined ? undefined : await takeInstanceLock(places.dataDirectory).catch(() => undefined);
  if (postgres !== undefined && lock === undefined) {
    return work({ host: postgres.socketDirectory, user: 'headgate', database: 'headgate' });
  }
  const opened = await startDatabase(config, places, silentLog);
  try {
    await work(opened.connection).catch((failure: unknown) => {
      throw explainDatabase(config, failure);
    });
  } finally {
    await opened.postgres?.stop();
    lock?.release();
  }
}

async function withServices(config: Config, connection: pg.ClientConfig, command: Command): Promise<void> {
  await migrate(connection);
  const database = openDatabaseOf(config, connection, createFailureLog(silentLog, systemClock));
  try {
    const sealer = createSealer(loadMasterKey(config.masterKey, masterKeyFile(config)));
    await command({ database, sealer, clock: systemClock, newId: uuidsByTime(systemClock) }, config);
  } finally {
    await database.close();
  }
}
