/**
 * Where the agent keeps what, below its own folder:
 *
 *   agent.lock                                    who holds the folder
 *   artifacts/<project>/<digest>/files/…          published versions, sealed (files 0444, folders 0555)
 *   verified/<project>/<digest>.json              the manifest of each version that was checked; out of the reach of SQL
 *   incoming/<id>/                                versions being fetched
 *   files/<project>/<environment>/                what pipelines read and write themselves
 *   warehouses/<project>/<environment>.duckdb     the environment's database
 *   instance-id                                   which instance this is, from its first start on
 *   keys/<kid>.json                               a private key with its certificate (0600); keys/next.pem waits for one
 *   values/<digest>.json                          the sealed values that were taken, until they are stale
 *   vaults/<name>.vault                           the secrets of a vault of the kind `file`, encrypted; <name>.key its key (0600)
 *   temporary/<project>/<environment>/            what a warehouse spills from memory; emptied at each start
 */
import { createHash } from 'node:crypto';
import { access, chmod, lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface EnvironmentPlace {
  projectId: string;
  environmentName: string;
}

const plainName = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/**
 * A name for the file system: the environment's own where that is safe on every file system, else its safe characters and a
 * digest. The two cannot meet, for a plain name has no point.
 */
export function toSafeName(environmentName: string): string {
  if (plainName.test(environmentName)) return environmentName;
  const readable = environmentName
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, 40);
  const digest = createHash('sha256').update(environmentName).digest('hex').slice(0, 16);
  return `${readable || 'environment'}.${digest}`;
}

export type Folders = ReturnType<typeof createFolders>;

export function createFolders(root: string) {
  const projectFolder = (kind: string, projectId: string) => join(root, kind, checkId(projectId));
  return {
    root,
    lock: join(root, 'agent.lock'),
    artifacts: join(root, 'artifacts'),
    incoming: join(root, 'incoming'),
    verified: join(root, 'verified'),
    temporary: join(root, 'temporary'),
    instanceId: join(root, 'instance-id'),
    keys: join(root, 'keys'),
    values: join(root, 'values'),
    vaults: join(root, 'vaults'),
    projectArtifacts: (projectId: string) => projectFolder('artifacts', projectId),
    projectVerified: (projectId: string) => projectFolder('verified', projectId),
    files: (place: EnvironmentPlace) =>
      join(projectFolder('files', place.projectId), toSafeName(place.environmentName)),
    database: (place: EnvironmentPlace) =>
      join(projectFolder('warehouses', place.projectId), `${toSafeName(place.environmentName)}.duckdb`),
    warehouseTemporary: (place: EnvironmentPlace) =>
      join(projectFolder('temporary', place.projectId), toSafeName(place.environmentName)),
  };
}

function checkId(projectId: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9-]{0,63}$/.test(projectId)) return projectId;
  throw new Error(`the project's id ${JSON.stringify(projectId)} cannot name a folder`);
}

/** Makes the folder, readable by its owner only, if it is not there. */
export async function makePrivateFolder(path: string): Promise<string> {
  if (await isPresent(path)) return path;
  // Not `recursive`: that loops forever where `mkdir` fails with ENOENT below a folder that exists, as in /proc.
  await makePrivateFolder(dirname(path));
  await mkdir(path, { mode: 0o700 }).catch((failure: NodeJS.ErrnoException) => {
    if (failure.code !== 'EEXIST') throw failure;
  });
  return path;
}

function isPresent(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Removes a tree whose folders may be sealed against writing. */
export async function removeTree(path: string): Promise<void> {
  await unseal(path);
  await rm(path, { recursive: true, force: true });
}

async function unseal(path: string): Promise<void> {
  const entry = await lstat(path).catch(() => undefined);
  if (!entry?.isDirectory()) return;
  await chmod(path, 0o700);
  for (const name of await readdir(path)) await unseal(join(path, name));
}
