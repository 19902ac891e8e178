/** Publishes the changes of a task on top of the newest version of its environment. */
import type { ReadCall } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import {
  type CopyRow,
  type CopyServices,
  createVersionFiles,
  newestVersion,
  readCopy,
  type WorkingCopy,
} from '../ai-tools/index.ts';
import type { ChangedFile } from './changed-files.ts';

const shownPaths = 20;
const mostNames = 100;

/** The first free name, because a task may be merged more than once. If all are taken, the last one is refused. */
export async function chooseVersionName(rows: ReadCall<never>['rows'], row: CopyRow): Promise<string> {
  const baseName = `ai-task-${row.task_id.slice(-12)}`;
  const environment_name = row.environment_name ?? '';
  let name = baseName;
  for (let number = 2; number <= mostNames; number += 1) {
    const [found] = await rows(newestVersion, { environment_name, version_name: name });
    if (found === undefined || found.version_name === null) return name;
    name = `${baseName}-${number}`;
  }
  return name;
}

/**
 * @returns the files of the newest version with the changes, and its manifest
 * @throws `environment-not-found`, `ai-task-merge-conflict`
 */
export async function applyToNewest(
  services: CopyServices,
  rows: ReadCall<never>['rows'],
  row: CopyRow,
  changed: readonly ChangedFile[],
): Promise<{ copy: WorkingCopy; base: string | null }> {
  const name = row.environment_name ?? '';
  const [newest] = await rows(newestVersion, { environment_name: name, version_name: null });
  if (newest === undefined) throw problem('environment-not-found', { name });
  const base = newest.manifest_digest;
  if (base !== row.manifest_digest) await requireNoConflict(services, row, base, changed);
  return { copy: await readCopy(services, { ...row, manifest_digest: base }), base };
}

async function requireNoConflict(
  services: CopyServices,
  row: CopyRow,
  newest: string | null,
  changed: readonly ChangedFile[],
): Promise<void> {
  const list = async (digest: string | null) => {
    const of = { read: services.database.read, blobs: services.blobs };
    const files = await createVersionFiles(of, row.account_id, digest).list();
    return new Map(files.map(({ path, digest: content }) => [path, content]));
  };
  const [first, last] = [await list(row.manifest_digest), await list(newest)];
  const paths = changed.map(({ path }) => path).filter((path) => first.get(path) !== last.get(path));
  if (paths.length > 0)
    throw problem('ai-task-merge-conflict', {
      paths: paths.slice(0, shownPaths),
      total: paths.length,
      branch: null,
    });
}
