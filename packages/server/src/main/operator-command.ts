/** What the operator's commands share: the database of the running installation, or, when nothing runs, of one started for the moment. */
import { join } from 'node:path';
import { systemClock } from '../kernel/clock.ts';
import { uuidsByTime } from '../kernel/identifiers.ts';
import { createLog } from '../kernel/log.ts';
import { migrate } from '../kernel/migrate.ts';
import { createSealer, loadMasterKey } from '../kernel/sealed.ts';
import { type Config, loadConfig } from './config.ts';
import { openDatabaseOf } from './deps.ts';
import { explainDatabase, placesOf, startDatabase } from './installation.ts';
import { takeInstanceLock } from './instance-lock.ts';
import type { ProvisioningServices } from './provisioning.ts';

type Command = (services: ProvisioningServices, config: Config) => Promise<void>;

/** Runs a command and ends the process; a failure is one line, and the exit code 1. */
export async function runOperatorCommand(command: Command): Promise<void> {
  try {
    await withServices(command);
    process.exit(0);
  } catch (failure) {
    console.error(failure instanceof Error ? failure.message : failure);
    process.exit(1);
  }
}

async function withServices(command: Command): Promise<void> {
  const config = loadConfig();
  const places = placesOf(config);
  const log = createLog('silent');
  // Whoever has the lock runs the embedded database: a server, which is then asked on its socket, or this command.
  const lock =
    places.postgres === undefined
      ? undefined
      : await takeInstanceLock(places.dataDirectory).catch(() => undefined);
  const serverRuns = places.postgres !== undefined && lock === undefined;
  const opened =
    serverRuns && places.postgres !== undefined
      ? {
          connection: { host: places.postgres.socketDirectory, user: 'headgate', database: 'headgate' },
          postgres: undefined,
        }
      : await startDatabase(config, places, log);
  const database = openDatabaseOf(config, opened.connection, log);
  try {
    await migrate(opened.connection).catch((failure: unknown) => {
      throw explainDatabase(config, failure);
    });
    const sealer = createSealer(loadMasterKey(config.masterKey, join(places.dataDirectory, 'master-key')));
    await command({ database, sealer, clock: systemClock, newId: uuidsByTime(systemClock) }, config);
  } finally {
    await database.close();
    await opened.postgres?.stop();
    lock?.release();
  }
}
