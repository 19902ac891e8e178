/** Finds the files of a file-iterator in the artifact and in the agent's files folder. */
import { lstat, readdir, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { Action, FileSearch, FoundFile } from '@headgate/pipelines';
import type { ActionContext, ActionResult } from './action-context.ts';
import { selectMatching } from './file-pattern.ts';
import { FileError, splitPath } from './files.ts';
import { iterate } from './iteration.ts';
import type { ArtifactFiles, RunPorts } from './ports.ts';

/** Files and folders that a search of the files folder looks at. */
const entryLimit = 100_000;

/** The absolute paths of files, by their paths below the folder of the search. */
type Found = Map<string, string>;

export async function iterateFiles(
  { search, list, ...mode }: Extract<Action, { action: 'iterate-files' }>,
  context: ActionContext,
): Promise<ActionResult> {
  const { context: runContext, artifact } = context.run;
  const found = await findFiles(search, runContext.ports, artifact.files);
  const paths = [...found.keys()].sort();
  const matching = await selectMatching(paths, search, runContext.expressions);
  const chosen = matching.slice(0, search.limit);
  const iterations = [];
  for (const path of chosen) iterations.push(list(await describeFile(path, found.get(path) ?? '', search)));
  const message = describeSearch(search, paths.length, matching.length, chosen.length);
  return iterate({ iterations, ...mode, ...(message === undefined ? {} : { message }) }, context);
}

/** @throws FileError */
async function findFiles(
  search: FileSearch,
  ports: Pick<RunPorts, 'filesFolder'>,
  artifact: ArtifactFiles,
): Promise<Found> {
  const published = findPublished(search, artifact);
  const copied = await findInFilesFolder(search, ports.filesFolder);
  if (published.size === 0 && copied === undefined && search.folder !== '' && !hasFolder(artifact, search))
    throw new FileError(
      `there is no folder "${search.folder}" in the version or in the agent's files folder: publish files in it, or create it in the files folder`,
    );
  return new Map([...(copied ?? []), ...published]);
}

const hasFolder = (artifact: ArtifactFiles, { folder }: FileSearch) =>
  artifact.paths.some((path) => path.startsWith(`${folder}/`));

function findPublished({ folder, recursive }: FileSearch, artifact: ArtifactFiles): Found {
  const prefix = folder === '' ? '' : `${folder}/`;
  const found: Found = new Map();
  for (const path of artifact.paths) {
    const inside = path.slice(prefix.length);
    if (!path.startsWith(prefix) || (!recursive && inside.includes('/'))) continue;
    const place = artifact.place(path);
    if (place !== undefined) found.set(inside, place);
  }
  return found;
}

/** Undefined if there is no such folder. A link counts only if it leads to a file of the files folder. */
async function findInFilesFolder(
  { folder, recursive }: FileSearch,
  filesFolder: string,
): Promise<Found | undefined> {
  const root = await realpath(filesFolder);
  const segments = folder === '' ? [] : splitPath(folder);
  const start = await realpath(join(root, ...segments)).catch(() => undefined);
  if (start === undefined || !(start === root || start.startsWith(root + sep))) return undefined;
  if (!(await lstat(start)).isDirectory()) return undefined;
  const found: Found = new Map();
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
      const place = join(start, path);
      if (entry.isFile() && !isPartial(entry.name)) found.set(path, place);
      else if (entry.isSymbolicLink() && (await leadsToFile(place, root))) found.set(path, place);
    }
  }
  return found;
}

/** A file that `writeFileAtomically` is still writing. */
const isPartial = (name: string) => name.startsWith('.') && name.endsWith('.partial');

async function leadsToFile(link: string, root: string): Promise<boolean> {
  const target = await realpath(link).catch(() => undefined);
  return target?.startsWith(root + sep) === true && (await lstat(target)).isFile();
}

async function describeFile(path: string, place: string, { folder }: FileSearch): Promise<FoundFile> {
  const slash = path.lastIndexOf('/');
  const { mtime } = await lstat(await realpath(place));
  return {
    folder,
    subfolder: slash < 0 ? '' : path.slice(0, slash),
    name: path.slice(slash + 1),
    lastModified: mtime.toISOString(),
  };
}

/** What the step says beside the number of iterations. */
function describeSearch(
  { folder, pattern }: FileSearch,
  files: number,
  matching: number,
  chosen: number,
): string | undefined {
  const place = folder === '' ? 'the files' : `"${folder}"`;
  if (files === 0) return `${place} has no files`;
  if (matching === 0) return `none of the ${files} files in ${place} matches ${pattern}`;
  if (chosen === matching) return undefined;
  return `${matching - chosen} more files match, beyond maxIterations`;
}
