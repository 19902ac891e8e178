/**
 * Files that pipelines name. What a pipeline reads lies in its artifact or in the files folder; what it writes, in the files folder only. A path
 * may not leave the folder, by `..` or by a symbolic link.
 */
import { lstat, mkdir, realpath, rename, rm } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import type { ArtifactFiles, RunPorts } from './ports.ts';

/** A path that is not allowed, or a file that is not there. */
export class FileError extends Error {}

/** The names along a relative path. @throws FileError */
function splitPath(path: string): string[] {
  const segments = path.split('/');
  const odd = segments.some((segment) => segment === '' || segment === '.' || segment === '..');
  const control = [...path].some((character) => character < ' ' || character === '\\');
  if (odd || control) {
    throw new FileError(
      `the path "${path}" is not allowed: use a relative path without "..", "." or backslashes`,
    );
  }
  return segments;
}

/** The absolute path of a file to read: of the pipeline's artifact, else of the files folder. @throws FileError */
export async function findFileToRead(
  ports: Pick<RunPorts, 'filesFolder'>,
  artifact: ArtifactFiles,
  path: string,
): Promise<string> {
  const published = artifact.place(path);
  if (published !== undefined) return published;
  const folder = await realpath(ports.filesFolder);
  const found = await realpath(join(folder, ...splitPath(path))).catch(() => undefined);
  if (found === undefined) {
    throw new FileError(
      `there is no file "${path}", neither in the artifact nor in the agent's files folder: publish it with the pipelines, or put it there`,
    );
  }
  if (!found.startsWith(folder + sep))
    throw new FileError(`the file "${path}" leads out of the agent's files folder`);
  if (!(await lstat(found)).isFile()) throw new FileError(`"${path}" is no file: name a file inside it`);
  return found;
}

/**
 * Writes a file of the files folder so that readers see the old one or the new one, never a part: `write` gets a path beside the target,
 * which takes the target's place when it is done. Missing folders are made.
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
    throw new FileError(`"${path}" exists and is no file: choose another name`);
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
      throw new FileError(`"${segment}" in the path "${path}" is no folder: choose another path`);
    }
  }
}
