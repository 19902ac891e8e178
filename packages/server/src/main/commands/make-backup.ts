/** `npm run backup -- FILE`: the database and the published files in one file, also while the server runs. */
import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import manifest from '../../../package.json' with { type: 'json' };
import { systemClock } from '../../kernel/clock.ts';
import { makeBackup } from '../backup/backup.ts';
import { withConnection } from '../backup/connection.ts';
import type { Config } from '../config.ts';
import { getMasterKeyFile } from '../database.ts';
import { openHostedFolder } from '../host/installation.ts';
import { openObjects } from '../objects.ts';
import { loadConfigOrExit, runToEnd, withDatabase } from './operator-command.ts';

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => stopping.abort(new Error('The backup was interrupted. No file was written.')));
}

const config = loadConfigOrExit();
await runToEnd(async () => {
  const [input, ...more] = process.argv.slice(2);
  if (input === undefined || input.startsWith('-') || more.length > 0)
    throw new Error('Give the file to write: npm run backup -- FILE');
  const file = resolve(config.invokedIn, input);
  if (existsSync(file))
    throw new Error(`${file} already exists. Give another file name, or move the existing file.`);
  await withDatabase(config, (connection, sealer) =>
    withConnection(connection, async (client) => {
      const hosted = openHostedFolder(config, stopping.signal);
      const services = { client, objects: await openObjects(config), hosted, sealer, clock: systemClock };
      const { version } = manifest;
      const made = await makeBackup({ ...services, version, signal: stopping.signal }, file);
      console.log(`backup         ${file} (${statSync(file).size} bytes)`);
      console.log(`state of       ${made.madeAt.toISOString()}`);
      console.log(
        `holds          ${made.tables} tables, ${made.blobs} published files, ${made.repositories} repositories`,
      );
      console.log(
        `not in it      the master key: store ${describeKeyPlace(config)} elsewhere; a restore needs it`,
      );
    }),
  );
});

function describeKeyPlace(config: Config): string {
  return config.masterKey === undefined ? getMasterKeyFile(config) : 'HEADGATE_MASTER_KEY';
}
