/**
 * What the operator's commands share. They use the database of the running installation; if none runs, they
 * start the embedded PostgreSQL and stop it at the end.
 */
import { existsSync } from 'node:fs';
import { closeInheritedDescriptors } from '@headgate/contract/inherited-descriptors';
import type pg from 'pg';
import { systemClock } from '../../kernel/clock.ts';
import { migrate } from '../../kernel/database/migrate.ts';
import { createFailureLog } from '../../kernel/failure-log.ts';
import { createUuidMaker } from '../../kernel/identifiers.ts';
import { silentLog } from '../../kernel/log.ts';
import { createSealer, findMasterKey, type Sealer } from '../../kernel/security/sealed.ts';
import { type Config, loadConfig } from '../config.ts';
import { getMasterKeyFile, openDatabaseFor } from '../database.ts';
import { decidePlacesFor, explainDatabase, startDatabase } from '../host/installation.ts';
import { takeInstanceLock } from '../host/instance-lock.ts';
import { getInstanceIdFile } from '../host/places.ts';
import type { ProvisioningServices } from '../provisioning.ts';

type Command = (services: ProvisioningServices, config: Config) => Promise<void>;

/** Runs a command on the migrated database and ends the process. */
export async function runOperatorCommand(command: Command): Promise<void> {
  const config = loadConfigOrExit();
  await runToEnd(() =>
    withDatabase(config, (connection, sealer) => withServices(config, { connection, sealer }, command)),
  );
}

/** Loads the settings; prints all invalid ones and exits. */
export function loadConfigOrExit(): Config {
  try {
    const config = loadConfig();
    closeInheritedDescriptors();
    return config;
  } catch (failure) {
    return exitWith(failure);
  }
}

/** Runs `work` and ends the process. A failure prints one line and exits with code 1. */
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
 * Calls `work` with the database. The holder of the instance lock runs the embedded PostgreSQL: either a
 * server, and the command connects to its socket, or this command.
 * @throws if there is no installation; the command does not create one
 */
export async function withDatabase(
  config: Config,
  work: (connection: pg.ClientConfig, sealer: Sealer) => Promise<void>,
): Promise<void> {
  const sealer = openSealer(config);
  const places = decidePlacesFor(config);
  const { postgres } = places;
  const lock =
    postgres === undefined ? undefined : await takeInstanceLock(places.dataDirectory).catch(() => undefined);
  if (postgres !== undefined && lock === undefined) {
    return work({ host: postgres.socketDirectory, user: 'headgate', database: 'headgate' }, sealer);
  }
  const opened = await startDatabase(config, places, silentLog);
  try {
    await work(opened.connection, sealer).catch((failure: unknown) => {
      throw explainDatabase(config, failure);
    });
  } finally {
    await opened.postgres?.stop();
    lock?.release();
  }
}

/** The sealer with the installation's master key. No server could open what another key seals. */
function openSealer(config: Config): Sealer {
  const { dataDirectory, databaseUrl } = config;
  if (databaseUrl === undefined && !existsSync(getInstanceIdFile(dataDirectory)))
    throw new Error(
      `${dataDirectory} has no installation; set HEADGATE_DATA_DIR to the server's data directory, or run \`npm start\` first.`,
    );
  const key = findMasterKey(config.masterKey, getMasterKeyFile(config));
  if (key !== undefined) return createSealer(key);
  throw new Error(
    `${dataDirectory} has no master key; set HEADGATE_DATA_DIR or HEADGATE_MASTER_KEY to the server's value, or run \`npm start\` first.`,
  );
}

async function withServices(
  config: Config,
  { connection, sealer }: { connection: pg.ClientConfig; sealer: Sealer },
  command: Command,
): Promise<void> {
  await migrate(connection);
  const database = openDatabaseFor(config, connection, createFailureLog(silentLog, systemClock));
  try {
    await command({ database, sealer, clock: systemClock, newId: createUuidMaker(systemClock) }, config);
  } finally {
    await database.close();
  }
}
