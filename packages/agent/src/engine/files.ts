/**
 * Files named by pipelines. A pipeline reads files from its artifact or from the agent's files folder, and
 * writes only to the files folder. A path cannot leave the folder, neither by `..` nor by a symbolic link.
 */
import { lstat, mkdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import type { Action } from '@headgate/pipelines';
import type { ArtifactFiles, RunPorts } from './ports.ts';
import type { Session } from './session.ts';

/** A path that is not allowed, or a file that does not exist. */
export class FileError extends Error {}

/** The segments of a relative path. @throws FileError */
export function splitPath(path: string): string[] {
  const segments = path.split('/');
  const odd = segments.some((segment) => segment === '' || segment === '.' || segment === '..');
  const control = [...path].some((character) => character < ' ' || character === '\\');
  if (odd || control) {
    throw new FileError(
      `the path "${path}" is not allowed: use a relative path without "..", ".", backslashes or control characters`,
    );
  }
  return segments;
}

/** The absolute path of a file to read, from the artifact or else from the files folder. @throws FileError */
export async function findFileToRead(
  ports: Pick<RunPorts, 'filesFolder' | 'environmentFilesFolder'>,
  artifact: ArtifactFiles,
  path: string,
): Promise<string> {
  const published = artifact.place(path);
  if (published !== undefined) return published;
  const segments = splitPath(path);
  let folder = '';
  let found: string | undefined;
  for (const each of [ports.filesFolder, ports.environmentFilesFolder]) {
    if (each === undefined || found !== undefined) continue;
    folder = await realpath(each);
    found = await realpath(join(folder, ...segments)).catch(() => undefined);
  }
  if (found === undefined) {
    throw new FileError(
      `there is no file "${path}" in the version or in the agent's files folder: publish it with the pipelines, or copy it to the folder`,
    );
  }
  if (!found.startsWith(folder + sep))
    throw new FileError(
      `the file "${path}" is a link to a file outside the agent's files folder: copy the file into the folder`,
    );
  if (!(await lstat(found)).isFile())
    throw new FileError(`"${path}" is a folder, not a file: name a file inside it`);
  return found;
}

/** A file of no bytes has no columns: it would replace a table by one that nobody meant. @throws FileError */
export async function requireContent(path: string, name: string): Promise<void> {
  if ((await stat(path)).size === 0)
    throw new FileError(`the file "${name}" is empty: it needs at least a header or a row`);
}

/** @throws FileError if the first line of a CSV file does not fit */
export async function requireHeader(
  { query, findFault }: NonNullable<Extract<Action, { action: 'load-file' }>['header']>,
  path: string,
  name: string,
  warehouse: Pick<Session, 'query'>,
): Promise<void> {
  // A file that cannot be read at all is refused by the load, which says more.
  const first = await warehouse.query(query(path), 1).catch(() => undefined);
  const cells = first?.rows[0]?.map((cell) => String(cell ?? ''));
  const fault = cells === undefined ? undefined : findFault(cells);
  if (fault !== undefined) throw new FileError(`the file "${name}" was not loaded: ${fault}`);
}

/** An error of the warehouse with the name that the pipeline gave the file, not its path on this machine. */
export function nameFile(error: unknown, path: string, name: string): unknown {
  if (error instanceof Error) error.message = error.message.replaceAll(path, name);
  return error;
}

/**
 * Writes a file in the files folder atomically: `write` gets a temporary path beside the target, which is
 * renamed to the target afterwards. Readers see the old file or the new one, never a part. Creates missing
 * folders.
 *
 * @throws FileError, or what `write` throws
 */
export async function writeFileAtomically<T>(
  ports: RunPorts,
  path: string,
  write: (path: string) => Promise<T>,
): Promise<T> {
  const segments = splitPath(path);
  const target = join(await realpath(ports.filesFolder), ...segments);
  await makeFolders(ports, segments.slice(0, -1), path);
  const existing = await lstat(target).catch(() => undefined);
  if (existing !== undefined && !existing.isFile())
    throw new FileError(`"${path}" exists and is not a file: choose another name`);
  const partial = join(dirname(target), `.${ports.newId()}.partial`);
  try {
    const result = await write(partial);
    await rename(partial, target);
    return result;
  } finally {
    await rm(partial, { force: true });
  }
}

async function makeFolders(ports: RunPorts, segments: readonly string[], path: string): Promise<void> {
  let folder = await realpath(ports.filesFolder);
  for (const segment of segments) {
    folder = join(folder, segment);
    await mkdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    if (!(await lstat(folder)).isDirectory()) {
      throw new FileError(`"${segment}" in the path "${path}" is not a folder: choose another path`);
    }
  }
}
