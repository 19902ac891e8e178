/** A PostgreSQL that belongs to nobody’s Headgate. */
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../../packages/server/src/main/embedded-postgres.ts';
import { decidePlaces } from '../../../packages/server/src/main/places.ts';
import { checkout, type Installation, isRoot } from './installation.ts';

/** In the folders of an installation that is never started. */
export async function startDatabase({ folder }: Installation): Promise<EmbeddedPostgres> {
  const stateDirectory = join(folder, 'state');
  mkdirSync(stateDirectory);
  if (isRoot) chmodSync(stateDirectory, 0o711);
  const { postgres } = decidePlaces({
    dataDirectory: join(folder, 'theirs'),
    stateDirectory,
    checkout,
    embeddedPostgres: true,
    localAgent: false,
  });
  if (postgres === undefined) throw new Error('no place for PostgreSQL');
  const log = { info: () => {}, warn: console.error, error: console.error };
  return startEmbeddedPostgres({ ...postgres, log });
}
