/**
 * The layout of the agent's folder:
 *
 *   agent.lock                                 the process that uses the folder
 *   artifacts/<project>/<digest>/files/…       published versions, sealed (files 0444, folders 0555)
 *   verified/<project>/<digest>.json           manifests of verified versions, where SQL cannot write
 *   incoming/<id>/                             versions being fetched
 *   files/<project>/<environment>/             files that pipelines read and write
 *   files/<project>/<environment>/.tests/<id>/  files of a running test
 *   warehouses/<project>/<environment>.duckdb  the environment's database
 *   …/<environment>.<generation>               instead, for an environment that was deleted and created again
 *   instance-id                                the id of this instance, created at its first start
 *   keys/<kid>.json                            a private key with its certificate (0600)
 *   keys/next.pem                              a private key without a certificate yet
 *   values/<digest>.json                       used sealed values, until they expire
 *   code/run-code-<digest>.mjs                 the code of run processes, if it cannot be kept beside the packages
 *   vaults/<name>.vault                        the encrypted secrets of a vault of the kind `file`
 *   vaults/<name>.key                          its key (0600)
 *   sessions/<id>.json                         an open session with a served warehouse, without secrets
 *   temporary/<project>/<environment>/         spilled data of a warehouse, deleted at each start
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface EnvironmentPlace {
  projectId: string;
  environmentName: string;
  /** How often an environment of this name was created; absent for the first one. */
  generation?: number | undefined;
}

const plainName = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/**
 * A file name for an environment: its own name if that is safe on all file systems, else its safe characters
 * and a digest. The two forms cannot collide, because a plain name contains no dot.
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

/** The first generation has the name that environments had before there were generations. */
function toPlaceName({ environmentName, generation }: EnvironmentPlace): string {
  const name = toSafeName(environmentName);
  return generation === undefined || generation === 1 ? name : `${name}.${generation}`;
}

/** The name that DuckDB gives to the database in an environment's file. */
export function nameCatalog(environmentName: string): string {
  const [name = ''] = toSafeName(environmentName).split('.');
  return ['main', 'temp', 'system'].includes(name) ? `${name}_db` : name;
}

/** The generation of an environment's file or folder of this name; undefined if it is of another environment. */
export function readGeneration(name: string, environmentName: string): number | undefined {
  const first = toSafeName(environmentName);
  if (name === first) return 1;
  const [, digits] = name.startsWith(`${first}.`)
    ? (/^\.([1-9]\d{0,9})$/.exec(name.slice(first.length)) ?? [])
    : [];
  return digits === undefined ? undefined : Number(digits);
}

export type Folders = ReturnType<typeof createFolders>;

export function createFolders(root: string) {
  const projectFolder = (kind: string, projectId: string) => join(root, kind, checkId(projectId));
  return {
    root,
    lock: join(root, 'agent.lock'),
    artifacts: join(root, 'artifacts'),
    databases: join(root, 'warehouses'),
    allFiles: join(root, 'files'),
    incoming: join(root, 'incoming'),
    verified: join(root, 'verified'),
    temporary: join(root, 'temporary'),
    instanceId: join(root, 'instance-id'),
    keys: join(root, 'keys'),
    code: join(root, 'code'),
    values: join(root, 'values'),
    vaults: join(root, 'vaults'),
    sessions: join(root, 'sessions'),
    projectArtifacts: (projectId: string) => projectFolder('artifacts', projectId),
    projectVerified: (projectId: string) => projectFolder('verified', projectId),
    files: (place: EnvironmentPlace) => join(projectFolder('files', place.projectId), toPlaceName(place)),
    testFiles: (place: EnvironmentPlace) =>
      join(projectFolder('files', place.projectId), toPlaceName(place), '.tests'),
    database: (place: EnvironmentPlace) =>
      join(projectFolder('warehouses', place.projectId), `${toPlaceName(place)}.duckdb`),
    warehouseTemporary: (place: EnvironmentPlace) =>
      join(projectFolder('temporary', place.projectId), toPlaceName(place)),
  };
}

function checkId(projectId: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9-]{0,63}$/.test(projectId)) return projectId;
  throw new Error(
    `the project id ${JSON.stringify(projectId)} is not valid: it must have only letters, digits and hyphens`,
  );
}

/** Creates the folder, accessible only by its owner, unless it exists. */
export async function makePrivateFolder(path: string): Promise<string> {
  // Every run asks for its folder, which is nearly always there: a thread for this costs more than the call.
  if (existsSync(path)) return path;
  // Not `recursive`: it loops forever if `mkdir` fails with ENOENT in an existing folder, such as /proc.
  await makePrivateFolder(dirname(path));
  await mkdir(path, { mode: 0o700 }).catch((failure: NodeJS.ErrnoException) => {
    if (failure.code !== 'EEXIST') throw failure;
  });
  return path;
}

/** Removes a tree that may contain sealed folders. */
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
