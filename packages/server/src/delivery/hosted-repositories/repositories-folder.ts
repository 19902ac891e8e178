/**
 * The folder of hosted repositories. All servers of a database must see the same one: a file in it has the
 * marker that the database knows.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Database, statement } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { Git } from '../git/index.ts';

export const markerName = 'headgate-repositories';
/** A usable folder is checked again after this time, an unusable one after a second. */
const trustedMilliseconds = 10_000;
const doubtedMilliseconds = 1_000;

const selectMarker = statement(
  { row: { marker: 'uuid' } },
  'select marker from repositories_folder where one',
);
const insertMarker = statement(
  { parameters: { marker: 'uuid' } },
  'insert into repositories_folder (marker) values ($marker) on conflict do nothing',
);

export interface RepositoriesFolder {
  readonly path: string;
  /** Why hosted repositories cannot be used at this server; undefined if they can. */
  findFault(): Promise<string | undefined>;
  /** @throws `repositories-unavailable` */
  require(): Promise<void>;
}

export function createRepositoriesFolder(
  path: string,
  { database, git }: { database: Pick<Database, 'read'>; git: Git },
): RepositoriesFolder {
  const file = join(path, markerName);
  let latest: { at: number; fault: string | undefined } | undefined;

  async function readMarker(): Promise<string | undefined> {
    const text = await readFile(file, 'utf8').catch((failure: NodeJS.ErrnoException) => {
      if (failure.code === 'ENOENT') return undefined;
      throw failure;
    });
    return text?.trim();
  }

  async function compare(): Promise<string | undefined> {
    const [known] = await database.read(selectMarker, {});
    let found = await readMarker();
    if (known === undefined) {
      if (found === undefined) await git.writeFile(file, `${randomUUID()}\n`);
      found = (await readMarker()) ?? '';
      await database.read(insertMarker, { marker: found });
    }
    const marker = known?.marker ?? (await database.read(selectMarker, {}))[0]?.marker;
    if (found === marker) return undefined;
    const reason =
      found === undefined
        ? `${file} is missing`
        : `${file} has the marker ${found.slice(0, 40)} of another folder`;
    return `${reason}. Mount the folder of hosted repositories at HEADGATE_REPOSITORIES_DIR at every server; if it was replaced by a copy, write ${marker} to that file`;
  }

  async function findFault(): Promise<string | undefined> {
    const now = performance.now();
    const trusted = latest?.fault === undefined ? trustedMilliseconds : doubtedMilliseconds;
    if (latest !== undefined && now - latest.at < trusted && (latest.fault !== undefined || existsSync(file)))
      return latest.fault;
    const checked = await git.check();
    const fault =
      'fault' in checked
        ? checked.fault
        : await compare().catch((failure: unknown) => {
            if (failure instanceof Error && 'syscall' in failure) return failure.message;
            throw failure;
          });
    latest = { at: now, fault };
    return fault;
  }

  return {
    path,
    findFault,
    async require() {
      const fault = await findFault();
      if (fault !== undefined) throw problem('repositories-unavailable', { reason: `${fault}.` });
    },
  };
}
