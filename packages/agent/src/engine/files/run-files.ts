/**
 * The files of one run, on the agent's side: the run's process may read and write none. A path of a pipeline
 * cannot leave the folder, neither by `..` nor by a symbolic link.
 */
import { randomUUID } from 'node:crypto';
import { appendFile, lstat, mkdir, open, readdir, realpath, rename, rm } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import type { Converted } from '@headgate/pipelines';
import type { ConvertedPartial, FileDescription, RunFiles } from '../ports/ports.ts';

/** Files and folders that a search looks at. */
const entryLimit = 100_000;
/** Bytes of a file that becomes a text in the run's process. */
const textLimit = 64 * 1024 * 1024;

/** A path that is not allowed, or a file that does not exist. */
export class FileError extends Error {}

export interface FilesPlace {
  /** The environment's folder, or that of a test. */
  filesFolder: string;
  /** Of a test: the environment's folder, from which it reads the files that are not in its own. */
  environmentFilesFolder?: string;
}

/** The segments of a relative path. @throws FileError */
function splitPath(path: string): string[] {
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

/** @param getPlace a run may turn out to be a test and get another folder */
export function createRunFiles(getPlace: () => FilesPlace, newId: () => string = randomUUID): RunFiles {
  /** Targets of the files that the run is writing, by their partial paths. */
  const writing = new Map<string, string>();

  async function find(path: string): Promise<string> {
    const segments = splitPath(path);
    const { filesFolder, environmentFilesFolder } = getPlace();
    let folder = '';
    let found: string | undefined;
    for (const each of [filesFolder, environmentFilesFolder]) {
      if (each === undefined || found !== undefined) continue;
      folder = await realpath(each);
      found = await realpath(join(folder, ...segments)).catch(() => undefined);
    }
    if (found === undefined) {
      throw new FileError(
        `there is no file "${path}" in the artifact or in the agent's files folder: publish it with the pipelines, or copy it to the folder`,
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

  return {
    find,
    read: async (path) => readTextFile(await find(path), path),
    list: (folder, recursive) => listFiles(getPlace().filesFolder, folder, recursive),
    async describe(folder, paths) {
      const root = await realpath(getPlace().filesFolder);
      const prefix = folder === '' ? [] : splitPath(folder);
      const found: FileDescription[] = [];
      for (const path of paths) {
        const place = await realpath(join(root, ...prefix, ...splitPath(path)));
        if (!place.startsWith(root + sep))
          throw new FileError(`the file "${path}" leads outside the agent's files folder: copy it into it`);
        found.push(await describeFile(place));
      }
      return found;
    },
    async beginWrite(path) {
      const { filesFolder } = getPlace();
      const segments = splitPath(path);
      const target = join(await realpath(filesFolder), ...segments);
      await makeFolders(filesFolder, segments.slice(0, -1), path);
      const existing = await lstat(target).catch(() => undefined);
      if (existing !== undefined && !existing.isFile())
        throw new FileError(`"${path}" exists and is not a file: choose another name`);
      const partial = join(dirname(target), `.${newId()}.partial`);
      writing.set(partial, target);
      return partial;
    },
    async append(partial, text) {
      if (!writing.has(partial)) throw new FileError(`the file "${partial}" is not being written`);
      await appendFile(partial, text);
    },
    isWriting: (path) => writing.has(path),
    findWriting(partial) {
      if (!writing.has(partial)) throw new FileError(`the file "${partial}" is not being written`);
      return partial;
    },
    async endWrite(partial, isComplete) {
      const target = writing.get(partial);
      if (target === undefined) throw new FileError(`the file "${partial}" is not being written`);
      try {
        if (isComplete) await rename(partial, target);
      } finally {
        writing.delete(partial);
        await rm(partial, { force: true });
      }
    },
    async close() {
      for (const partial of writing.keys()) await rm(partial, { force: true });
      writing.clear();
    },
  };
}

/** No file gets this name: a download is loaded from its partial file. */
const downloadName = '.download';

/**
 * Downloads into a partial file, whose path it returns. Nothing is left of a download that fails.
 *
 * @throws what `write` throws
 */
export async function downloadPartial(
  files: Pick<RunFiles, 'beginWrite' | 'endWrite'>,
  write: (path: string) => Promise<void>,
): Promise<string> {
  const partial = await files.beginWrite(downloadName);
  try {
    await write(partial);
    return partial;
  } catch (error) {
    await files.endWrite(partial, false);
    throw error;
  }
}

/** @throws what `convert` throws */
export async function convertPartial(
  files: Pick<RunFiles, 'beginWrite' | 'endWrite'>,
  find: () => Promise<string>,
  convert: (path: string, target: string) => Promise<Converted>,
): Promise<ConvertedPartial> {
  const source = await find();
  let converted: Converted = { rows: 0, lineBytes: 0, columns: [], notes: [] };
  const path = await downloadPartial(files, async (target) => {
    converted = await convert(source, target);
  });
  const bytes = converted.isMissing === true ? 0 : (await lstat(path)).size;
  return { ...converted, path, bytes };
}

/** @throws FileError if it is too large */
export async function readTextFile(place: string, path: string): Promise<string> {
  await using file = await open(place, 'r');
  const { size } = await file.stat();
  if (size > textLimit)
    throw new FileError(
      `the file "${path}" has ${size} bytes; the limit of a text is ${textLimit}: load it into a table instead`,
    );
  return file.readFile('utf8');
}

async function makeFolders(filesFolder: string, segments: readonly string[], path: string): Promise<void> {
  let folder = await realpath(filesFolder);
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

/** Undefined if there is no such folder. A link counts only if it leads to a file of the files folder. */
async function listFiles(
  filesFolder: string,
  folder: string,
  recursive: boolean,
): Promise<string[] | undefined> {
  const root = await realpath(filesFolder);
  const segments = folder === '' ? [] : splitPath(folder);
  const start = await realpath(join(root, ...segments)).catch(() => undefined);
  if (start === undefined || !(start === root || start.startsWith(root + sep))) return undefined;
  if (!(await lstat(start)).isDirectory()) return undefined;
  const found: string[] = [];
  const open = [''];
  let entries = 0;
  for (let inside = open.pop(); inside !== undefined; inside = open.pop()) {
    for (const entry of await readdir(join(start, inside), { withFileTypes: true })) {
      entries += 1;
      if (entries > entryLimit)
        throw new FileError(
          `the folder "${folder}" has more than ${entryLimit} files and folders: name a smaller folder`,
        );
      const path = inside === '' ? entry.name : `${inside}/${entry.name}`;
      if (entry.isDirectory() && recursive) open.push(path);
      const isLink = entry.isSymbolicLink();
      if (isLink ? await leadsToFile(join(start, path), root) : entry.isFile() && !isPartial(entry.name))
        found.push(path);
    }
  }
  return found;
}

/** A file that is still being written. */
const isPartial = (name: string) => name.startsWith('.') && name.endsWith('.partial');

async function leadsToFile(link: string, root: string): Promise<boolean> {
  const target = await realpath(link).catch(() => undefined);
  return target?.startsWith(root + sep) === true && (await lstat(target)).isFile();
}

/** @param path absolute */
export async function describeFile(path: string): Promise<FileDescription> {
  const { mtime, size } = await lstat(path);
  return { modified: mtime.toISOString(), size };
}
