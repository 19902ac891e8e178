/** Finds the files of a file-iterator in the artifact and in the agent's files folder. */
import {
  type Action,
  compilePattern,
  type FileSearch,
  type FoundFile,
  type StorePlace,
} from '@headgate/pipelines';
import type { ActionContext, ActionResult } from '../context/action-context.ts';
import { FileError } from '../files/run-files.ts';
import type { ArtifactFiles, RunPorts } from '../ports/ports.ts';
import { iterate } from './iteration.ts';

/** Paths below the folder of the search, and the path in the artifact of each that is published. */
type FilesByPath = Map<string, string | undefined>;

export async function iterateFiles(
  { search, list, ...mode }: Extract<Action, { action: 'iterate-files' }>,
  context: ActionContext,
): Promise<ActionResult> {
  const { context: runContext, artifact } = context.run;
  if (search.place !== undefined)
    return iterateObjects({ search, place: search.place, list, ...mode }, context);
  const found = await findFiles(search, runContext.ports, artifact.files);
  const paths = [...found.keys()].sort();
  const matching = await selectMatching(paths, search);
  const chosen = matching.slice(0, search.limit);
  const described = await describeFiles(chosen, found, search, {
    ports: runContext.ports,
    artifact: artifact.files,
  });
  const iterations = described.map((file) => list(file));
  const message = describeSearch(search, paths.length, matching.length, chosen.length);
  return iterate({ iterations, ...mode, ...(message === undefined ? {} : { message }) }, context);
}

/** The objects of a folder of a store, in the order of their keys. */
async function iterateObjects(
  {
    search,
    place,
    list,
    ...mode
  }: Omit<Extract<Action, { action: 'iterate-files' }>, 'action'> & { place: StorePlace },
  context: ActionContext,
): Promise<ActionResult> {
  const { ports, limit } = context.run.context;
  const listed = await ports.stores.list(place, limit, search.recursive ? 'all' : 'folder');
  const below = new Map(
    listed
      .map((object) => [object.key.slice(place.key.length), object] as const)
      .filter(([path]) => path !== '' && !path.endsWith('/') && (search.recursive || !path.includes('/'))),
  );
  const matching = await selectMatching([...below.keys()].sort(), {
    ...search,
    folder: place.key.replace(/\/$/, ''),
  });
  const chosen = matching.slice(0, search.limit);
  const iterations = chosen.map((path) => {
    const { modified = '', size = 0 } = below.get(path) ?? {};
    const slash = path.lastIndexOf('/');
    return list({
      folder: search.folder,
      subfolder: slash < 0 ? '' : path.slice(0, slash),
      name: path.slice(slash + 1),
      lastModified: modified,
      size,
    });
  });
  const message = describeSearch(search, below.size, matching.length, chosen.length);
  return iterate({ iterations, ...mode, ...(message === undefined ? {} : { message }) }, context);
}

/** @throws FileError */
async function findFiles(
  search: FileSearch,
  { files }: Pick<RunPorts, 'files'>,
  artifact: ArtifactFiles,
): Promise<FilesByPath> {
  const published = findPublished(search, artifact);
  const copied = await files.list(search.folder, search.recursive);
  if (published.size === 0 && copied === undefined && search.folder !== '' && !hasFolder(artifact, search))
    throw new FileError(
      `there is no folder "${search.folder}" in the version or in the agent's files folder: publish files in it, or create it in the files folder`,
    );
  return new Map([...(copied ?? []).map((path) => [path, undefined] as const), ...published]);
}

const hasFolder = (artifact: ArtifactFiles, { folder }: FileSearch) =>
  artifact.paths.some((path) => path.startsWith(`${folder}/`));

function findPublished({ folder, recursive }: FileSearch, artifact: ArtifactFiles): FilesByPath {
  const prefix = folder === '' ? '' : `${folder}/`;
  const found: FilesByPath = new Map();
  for (const path of artifact.paths) {
    const inside = path.slice(prefix.length);
    if (!path.startsWith(prefix) || (!recursive && inside.includes('/'))) continue;
    found.set(inside, path);
  }
  return found;
}

async function describeFiles(
  paths: readonly string[],
  found: FilesByPath,
  { folder }: FileSearch,
  { ports, artifact }: { ports: RunPorts; artifact: ArtifactFiles },
): Promise<FoundFile[]> {
  const copied = paths.filter((path) => found.get(path) === undefined);
  const descriptions = copied.length === 0 ? [] : await ports.files.describe(folder, copied);
  const byPath = new Map(copied.map((path, index) => [path, descriptions[index]]));
  const described: FoundFile[] = [];
  for (const path of paths) {
    const published = found.get(path);
    const slash = path.lastIndexOf('/');
    const file = published === undefined ? byPath.get(path) : await artifact.describe(published);
    described.push({
      folder,
      subfolder: slash < 0 ? '' : path.slice(0, slash),
      name: path.slice(slash + 1),
      lastModified: file?.modified ?? '',
      size: file?.size ?? 0,
    });
  }
  return described;
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

/**
 * The paths whose name, path below the folder, or whole path matches the pattern.
 *
 * @throws ParameterError
 */
async function selectMatching(paths: readonly string[], { pattern, folder }: FileSearch): Promise<string[]> {
  if (pattern === '') return [...paths];
  const matches = await compilePattern('filterRegex', pattern);
  const prefix = folder === '' ? '' : `${folder}/`;
  return paths.filter(
    (path) => matches(path) || matches(path.slice(path.lastIndexOf('/') + 1)) || matches(prefix + path),
  );
}
