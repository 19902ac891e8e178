/** `npm run restore -- FILE [--force]`: restores an installation to the state of the backup. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { silentLog } from '../../kernel/log.ts';
import { createSealer, findMasterKey } from '../../kernel/security/sealed.ts';
import { withConnection } from '../backup/connection.ts';
import { restoreBackup, type VerifiedBackup, verifyBackup } from '../backup/restore.ts';
import type { Config } from '../config.ts';
import { getMasterKeyFile } from '../database.ts';
import { decidePlacesFor, explainDatabase, openHostedFolder, startDatabase } from '../host/installation.ts';
import { takeInstanceLock } from '../host/instance-lock.ts';
import { openObjects } from '../objects.ts';
import { loadConfigOrExit, runToEnd } from './operator-command.ts';

const config = loadConfigOrExit();
await runToEnd(async () => {
  const { file, force } = parseArguments(process.argv.slice(2));
  // Check for a running server first: reading the file may take a while. If there is no data directory,
  // create none before the file is verified.
  let lock = existsSync(config.dataDirectory) ? await takeInstanceLock(config.dataDirectory) : undefined;
  try {
    const backup = await verifyFile(config, file);
    const places = decidePlacesFor(config);
    lock ??= await takeInstanceLock(places.dataDirectory);
    const { replacedRepositories } = await restore(config, backup, force);
    const { madeAt, headgateVersion } = backup.header;
    console.log(`restored       ${file}`);
    console.log(`state of       ${madeAt}, by Headgate ${headgateVersion}`);
    if (replacedRepositories !== undefined)
      console.log(
        `earlier        repositories were moved to ${replacedRepositories}: delete it when you do not need them`,
      );
    console.log(`next           npm start`);
  } finally {
    lock?.release();
  }
});

function parseArguments(inputs: string[]): { file: string; force: boolean } {
  const [file, ...more] = inputs.filter((each) => each !== '--force');
  if (file === undefined || file.startsWith('-') || more.length > 0)
    throw new Error('Give the file to restore: npm run restore -- FILE [--force]');
  return { file: resolve(config.invokedIn, file), force: inputs.includes('--force') };
}

function verifyFile(config: Config, file: string): Promise<VerifiedBackup> {
  const place = getMasterKeyFile(config);
  const key = findMasterKey(config.masterKey, place);
  return verifyBackup(file, { sealer: key && createSealer(key), place });
}

async function restore(config: Config, backup: VerifiedBackup, force: boolean) {
  const opened = await startDatabase(config, decidePlacesFor(config), silentLog);
  try {
    const objects = await openObjects(config);
    const hosted = openHostedFolder(config, new AbortController().signal);
    return await withConnection(opened.connection, (client) =>
      restoreBackup({ client, objects, hosted }, backup, force),
    );
  } catch (failure) {
    throw explainDatabase(config, failure);
  } finally {
    await opened.postgres?.stop();
  }
}
