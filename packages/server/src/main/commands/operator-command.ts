/** What the operator's commands share: the database of the running installation, or, when nothing runs, of one started for the moment. */
import { existsSync } from 'node:fs';
import type pg from 'pg';
import { systemClock } from '../../kernel/clock.ts';
import { migrate } from '../../kernel/database/migrate.ts';
import { createFailureLog } from '../../kernel/failure-log.ts';
import { createUuidMaker } from '../../kernel/identifiers.ts';
import { silentLog } from '../../kernel/log.ts';
import { createSealer, findMasterKey, type Sealer } from '../../kernel/security/sealed.ts';
import { type Config, loadConfig } from '../config.ts';
import { masterKeyFile, openDatabaseOf } from '../deps.ts';
import { explainDatabase, placesOf, startDatabase } from '../host/installation.ts';
import { takeInstanceLock } from '../host/instance-lock.ts';
import { instanceIdFile } from '../host/places.ts';
import type { ProvisioningServices } from '../provisioning.ts';

type Command = (services: ProvisioningServices, config: Config) => Promise<void>;

/** Runs a command on the migrated database and ends the process. */
export async function runOperatorCommand(command: Command): Promise<void> {
  const config = loadConfigOrExit();
  await runToEnd(() =>
    onDatabase(config, (connection, sealer) => withServices(config, { connection, sealer }, command)),
  );
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
 * Whoever has the lock runs the embedded database: a server, which is then asked on its socket, or this command.
 * @throws when there is no installation; none is made
 */
export async function onDatabase(
  config: Config,
  work: (connection: pg.ClientConfig, sealer: Sealer) => Promise<void>,
): Promise<void> {
  const sealer = sealerOf(config);
  const places = placesOf(config);
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

/** With the key of the installation: what another key seals, no server can read. */
function sealerOf(config: Config): Sealer {
  const { dataDirectory, databaseUrl } = config;
  if (databaseUrl === undefined && !existsSync(instanceIdFile(dataDirectory)))
    throw new Error(
      `There is no installation in ${dataDirectory}; set HEADGATE_DATA_DIR to the server's data directory, or run \`npm start\` first.`,
    );
  const key = findMasterKey(config.masterKey, masterKeyFile(config));
  if (key !== undefined) return createSealer(key);
  throw new Error(
    `There is no master key in ${dataDirectory}; set HEADGATE_DATA_DIR, or HEADGATE_MASTER_KEY, as for the server, or run \`npm start\` first.`,
  );
}

async function withServices(
  config: Config,
  { connection, sealer }: { connection: pg.ClientConfig; sealer: Sealer },
  command: Command,
): Promise<void> {
  await migrate(connection);
  const database = openDatabaseOf(config, connection, createFailureLog(silentLog, systemClock));
  try {
    await command({ database, sealer, clock: systemClock, newId: createUuidMaker(systemClock) }, config);
  } finally {
    await database.close();
  }
}
