/** Reads a folder of repositories with pipeline files, and finds the distinct pipelines in it. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';
import { findDefinition, parsePipeline } from '@headgate/pipelines';
import { parse } from 'yaml';

export interface CorpusPipeline {
  /** Of the file in the folder; the first of those with the same content. */
  readonly file: string;
  readonly repository: string;
  /** The folder that its references are relative to. */
  readonly root: string;
  /** Relative to the root. */
  readonly name: string;
  /** Files with the same content. */
  readonly copies: number;
  /** Component types that are not known here, its children's included. */
  readonly unknownTypes: readonly string[];
  /** Why the file cannot be read. */
  readonly fault?: string;
}

const fileLimit = 4 * 1024 * 1024;
const pipelineFile = /\.(?:orch|tran)\.yaml$/;
/** Of an artifact: other files are not read by pipelines. */
const artifactFile = /\.(?:yaml|yml|sql|py|sh|csv|json|txt|md)$/i;

/** The files of a folder, in the order of their names. */
export function listFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && artifactFile.test(entry.name))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((path) => !path.startsWith('.git/') && statSync(join(folder, path)).size <= fileLimit)
    .sort();
}

interface Read {
  readonly digest: string;
  readonly types: readonly string[];
  readonly references: readonly string[];
  readonly fault?: string;
}

/** The content without places, notes and ids, so that a copy is the same pipeline. */
function readPipeline(text: string, path: string): Read {
  const digestOf = (value: unknown) => createHash('sha256').update(JSON.stringify(value)).digest('hex');
  const { error } = parsePipeline(path, text);
  const fault = error === undefined ? {} : { fault: error.message.split('\n')[0] ?? '' };
  let content: unknown;
  try {
    content = parse(text, { maxAliasCount: 100 });
  } catch {
    return { digest: digestOf(text), types: [], references: [], ...fault };
  }
  return { digest: digestOf(withoutIds(content)), ...listUses(content), ...fault };
}

const leftOut = new Set(['design', 'id', 'componentId', 'version']);

function withoutIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutIds);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([key]) => !leftOut.has(key));
  return Object.fromEntries(
    members.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, each]) => [key, withoutIds(each)]),
  );
}

const callParameters = ['orchestrationJob', 'transformationJob', 'pipelineName'];

function listUses(content: unknown): Pick<Read, 'types' | 'references'> {
  const pipeline = (content as { pipeline?: { components?: unknown } } | null)?.pipeline;
  const types: string[] = [];
  const references: string[] = [];
  for (const component of Object.values(pipeline?.components ?? {})) {
    const { type, parameters, skipped } = (component ?? {}) as Record<string, unknown>;
    if (typeof type !== 'string' || skipped === true) continue;
    types.push(type);
    for (const key of callParameters) {
      const name = (parameters as Record<string, unknown> | undefined)?.[key];
      if (typeof name === 'string' && type !== 'run-shared-pipeline') references.push(name);
    }
  }
  return { types, references };
}

const withEndings = (name: string) => [name, `${name}.orch.yaml`, `${name}.tran.yaml`];

/** The folder between the repository and the file from which most references are found, also those of children. */
function chooseRoot(path: string, read: ReadonlyMap<string, Read>): string {
  const folders = posix.dirname(path) === '.' ? [] : posix.dirname(path).split('/');
  const roots = ['', ...folders.map((_, index) => folders.slice(0, index + 1).join('/'))];
  const counts = roots.map((root) => countMissing(path, root, read, new Set()));
  return roots[counts.indexOf(Math.min(...counts))] ?? '';
}

function findChild(name: string, root: string, read: ReadonlyMap<string, Read>): string | undefined {
  return withEndings(posix.join(root, name)).find((each) => read.has(each));
}

function countMissing(
  path: string,
  root: string,
  read: ReadonlyMap<string, Read>,
  seen: Set<string>,
): number {
  if (seen.has(path)) return 0;
  seen.add(path);
  let missing = 0;
  for (const name of read.get(path)?.references ?? []) {
    const child = findChild(name, root, read);
    missing += child === undefined ? 1 : countMissing(child, root, read, seen);
  }
  return missing;
}

/**
 * The one file of a repository with this name in another folder: repositories are published without the folders that
 * the pipelines were written in. Of several, the one whose last folders are the same.
 */
export function chooseMoved(name: string, paths: Iterable<string>): string | undefined {
  const names = withEndings(name).map((each) => each.split('/').reverse());
  const ranked = [...paths].map((path) => {
    const parts = path.split('/').reverse();
    const same = names.map((each) => each.findIndex((part, index) => part !== parts[index]));
    return {
      path,
      same: Math.max(...same.map((count, index) => (count < 0 ? (names[index]?.length ?? 0) : count))),
    };
  });
  const most = Math.max(0, ...ranked.map(({ same }) => same));
  const best = ranked.filter(({ same }) => same === most);
  return most > 0 && best.length === 1 ? best[0]?.path : undefined;
}

/** The same, as a path of the machine. */
export function findMoved(name: string, repository: string): string | undefined {
  const moved = chooseMoved(
    name,
    listFiles(repository).filter((path) => pipelineFile.test(path)),
  );
  return moved === undefined ? undefined : join(repository, moved);
}

/** @param folder each folder in it is a repository */
export function readCorpus(folder: string): {
  files: number;
  repositories: number;
  pipelines: CorpusPipeline[];
} {
  const distinct = new Map<string, CorpusPipeline>();
  let files = 0;
  let repositories = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) =>
    a.name < b.name ? -1 : 1,
  )) {
    if (!entry.isDirectory()) continue;
    const repository = entry.name;
    const paths = new Set(listFiles(join(folder, repository)));
    const read = new Map<string, Read>();
    for (const path of paths)
      if (pipelineFile.test(path)) {
        const text = readFileSync(join(folder, repository, path), 'utf8');
        read.set(path, readPipeline(text, path));
      }
    files += read.size;
    repositories += read.size > 0 ? 1 : 0;
    for (const [path, { digest, fault }] of read) {
      const copy = distinct.get(digest);
      if (copy !== undefined) {
        distinct.set(digest, { ...copy, copies: copy.copies + 1 });
        continue;
      }
      const root = chooseRoot(path, read);
      const unknown = new Set<string>();
      addUnknownTypes(path, root, read, unknown, new Set());
      distinct.set(digest, {
        file: `${repository}/${path}`,
        repository,
        root,
        name: posix.relative(root, path),
        copies: 1,
        unknownTypes: [...unknown].sort(),
        ...(fault === undefined ? {} : { fault }),
      });
    }
  }
  return { files, repositories, pipelines: [...distinct.values()] };
}

function addUnknownTypes(
  path: string,
  root: string,
  read: ReadonlyMap<string, Read>,
  unknown: Set<string>,
  seen: Set<string>,
): void {
  if (seen.has(path)) return;
  seen.add(path);
  const found = read.get(path);
  for (const type of found?.types ?? []) if (findDefinition(type) === undefined) unknown.add(type);
  for (const name of found?.references ?? []) {
    const child = findChild(name, root, read) ?? chooseMoved(name, read.keys());
    if (child !== undefined) addUnknownTypes(child, root, read, unknown, seen);
  }
}
