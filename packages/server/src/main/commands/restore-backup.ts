/** `npm run restore -- FILE [--force]`: an installation as it was when the backup was made. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { silentLog } from '../../kernel/log.ts';
import { createSealer, findMasterKey } from '../../kernel/security/sealed.ts';
import { onOneConnection } from '../backup/connection.ts';
import { restoreBackup, type VerifiedBackup, verifyBackup } from '../backup/restore.ts';
import type { Config } from '../config.ts';
import { masterKeyFile } from '../deps.ts';
import { explainDatabase, placesOf, startDatabase } from '../host/installation.ts';
import { takeInstanceLock } from '../host/instance-lock.ts';
import { openObjects } from '../objects.ts';
import { loadConfigOrExit, runToEnd } from './operator-command.ts';

const config = loadConfigOrExit();
await runToEnd(async () => {
  const { file, force } = parse(process.argv.slice(2));
  // A server is seen before the file is read, which may take a while. Where nothing is, nothing is made for a
  // file that is no good.
  let lock = existsSync(config.dataDirectory) ? await takeInstanceLock(config.dataDirectory) : undefined;
  try {
    const backup = await verified(config, file);
    const places = placesOf(config);
    lock ??= await takeInstanceLock(places.dataDirectory);
    await restore(config, backup, force);
    const { madeAt, headgateVersion } = backup.header;
    console.log(`restored       ${file}`);
    console.log(`state of       ${madeAt}, by Headgate ${headgateVersion}`);
    console.log(`now            npm start`);
  } finally {
    lock?.release();
  }
});

function parse(given: string[]): { file: string; force: boolean } {
  const [file, ...more] = given.filter((each) => each !== '--force');
  if (file === undefined || file.startsWith('-') || more.length > 0)
    throw new Error('Name the file to restore: npm run restore -- FILE [--force]');
  return { file: resolve(config.invokedIn, file), force: given.includes('--force') };
}

function verified(config: Config, file: string): Promise<VerifiedBackup> {
  const place = masterKeyFile(config);
  const key = findMasterKey(config.masterKey, place);
  return verifyBackup(file, { sealer: key && createSealer(key), place });
}

async function restore(config: Config, backup: VerifiedBackup, force: boolean): Promise<void> {
  const opened = await startDatabase(config, placesOf(config), silentLog);
  try {
    const objects = await openObjects(config);
    await onOneConnection(opened.connection, (client) => restoreBackup({ client, objects }, backup, force));
  } catch (failure) {
    throw explainDatabase(config, failure);
  } finally {
    await opened.postgres?.stop();
  }
}
