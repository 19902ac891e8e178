// Copies programs for unprivileged processes that cannot read the checkout.
//
// Terminology
//   kit    a folder with all that one process needs to run: PostgreSQL's programs, or the agent with Node, its
//          sources and their dependencies, laid out as in the checkout so that imports resolve
//   stamp  the digest of the kit's sources, and part of its name. A kit never changes; it is only created and removed.
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** A kit used this recently is not removed: a process may be about to start from it. */
const KEEP_UNUSED_MS = 10 * 60_000;
/** Raised when the layout of a kit changes. */
const LAYOUT = 1;

/** The sources of a kit, by absolute path. Installed files never change in place; sources do. */
type Contents = Map<string, { to: string; installed: boolean }>;

/** @returns the folder of PostgreSQL's programs, with the layout of `native` */
export function ensurePostgresKit(native: string, runtimeFolder: string): string {
  const contents: Contents = new Map([[native, { to: 'native', installed: true }]]);
  return join(ensureKit('postgres', contents, runtimeFolder), 'native');
}

/**
 * @param node the Node program to copy
 * @returns the Node program and the folder that replaces the checkout, both in the kit
 */
export function ensureAgentKit(
  checkout: string,
  node: string,
  runtimeFolder: string,
): { node: string; checkout: string } {
  const contents: Contents = new Map([[node, { to: join('bin', 'node'), installed: true }]]);
  for (const name of ['agent', 'contract', 'pipelines']) {
    const folder = join(checkout, 'packages', name);
    const link = join('node_modules', '@headgate', name);
    contents.set(folder, { to: join('packages', name), installed: false });
    contents.set(join(checkout, link), { to: link, installed: true });
    addDependencies(checkout, folder, contents);
  }
  const folder = ensureKit('agent', contents, runtimeFolder);
  return { node: join(folder, 'bin', 'node'), checkout: folder };
}

/** Adds the dependencies of the package in `folder`, recursively. */
function addDependencies(checkout: string, folder: string, contents: Contents): void {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const names = Object.keys({
    ...manifest.dependencies,
    ...manifest.optionalDependencies,
    ...manifest.peerDependencies,
  });
  for (const name of names) {
    // Optional dependencies of other platforms are absent; workspace packages are already in the kit.
    const found = name.startsWith('@headgate/') ? undefined : resolvePackage(checkout, folder, name);
    if (found === undefined || contents.has(found)) continue;
    contents.set(found, { to: relative(checkout, found), installed: true });
    addDependencies(checkout, found, contents);
  }
}

/** As Node resolves it: from the nearest node_modules that has it. */
function resolvePackage(checkout: string, from: string, name: string): string | undefined {
  for (let folder = from; folder.startsWith(checkout); folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return candidate;
  }
  return undefined;
}

function ensureKit(name: string, contents: Contents, runtimeFolder: string): string {
  const folder = join(runtimeFolder, `${name}-${computeStamp(contents)}`);
  // Other users must be able to read the kit whatever the operator's umask. No other code runs until it is
  // reset.
  const umask = process.umask(0o022);
  try {
    mkdirSync(runtimeFolder, { recursive: true });
    if (!existsSync(folder))
      makeKit(folder, join(runtimeFolder, `${name}-new-${randomBytes(6).toString('hex')}`), contents);
  } finally {
    process.umask(umask);
  }
  const now = new Date();
  utimesSync(folder, now, now);
  removeUnused(name, folder, runtimeFolder);
  return folder;
}

function makeKit(folder: string, draft: string, contents: Contents): void {
  try {
    for (const [from, { to, installed }] of contents) copy(from, join(draft, to), installed);
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    // Another start on this machine may have created the same kit in the meantime.
    if (!existsSync(folder)) throw error;
  }
}

/** For installed packages only the package's manifest counts; for sources every file. */
function computeStamp(contents: Contents): string {
  const digest = createHash('sha256').update(`${LAYOUT} ${process.platform}-${process.arch}\n`);
  for (const [from, { installed }] of contents) {
    const manifest = join(from, 'package.json');
    const installedFiles = existsSync(manifest) ? [from, manifest] : [from];
    for (const path of installed ? installedFiles : listFiles(from)) {
      const stat = lstatSync(path);
      digest.update(`${path} ${stat.size} ${stat.mtimeMs} ${stat.ino}\n`);
    }
  }
  return digest.digest('hex').slice(0, 16);
}

function listFiles(path: string): string[] {
  if (!lstatSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .sort()
    .filter(isIncluded)
    .flatMap((name) => listFiles(join(path, name)));
}

/** Nested dependencies are copied by name, if they are needed. */
function isIncluded(name: string): boolean {
  return name !== 'node_modules' && !name.includes('.test.');
}

function copy(from: string, to: string, installed: boolean): void {
  const stat = lstatSync(from);
  mkdirSync(dirname(to), { recursive: true });
  if (stat.isSymbolicLink()) {
    symlinkSync(readlinkSync(from), to);
  } else if (stat.isDirectory()) {
    mkdirSync(to, { recursive: true });
    for (const name of readdirSync(from))
      if (isIncluded(name)) copy(join(from, name), join(to, name), installed);
  } else if (stat.isFile()) {
    copyFile(from, to, stat, installed);
  }
}

/**
 * Hard-links the file if possible. Not for sources, which editors change in place, and not for files that
 * others cannot read, because both names have the same mode.
 */
function copyFile(from: string, to: string, stat: Stats, installed: boolean): void {
  const executable = (stat.mode & 0o100) !== 0;
  const open = executable ? 0o555 : 0o444;
  if (installed && (stat.mode & open & 0o005) === (open & 0o005)) {
    try {
      linkSync(from, to);
      return;
    } catch {
      // Another file system, or one without hard links: copy the file.
    }
  }
  copyFileSync(from, to, constants.COPYFILE_FICLONE);
  chmodSync(to, executable ? 0o755 : 0o644);
}

function removeUnused(name: string, current: string, runtimeFolder: string): void {
  const others = readdirSync(runtimeFolder)
    .filter((entry) => entry.startsWith(`${name}-`))
    .map((entry) => join(runtimeFolder, entry))
    .filter((folder) => folder !== current && Date.now() - statSync(folder).mtimeMs > KEEP_UNUSED_MS);
  if (others.length === 0) return;
  const programs = listRunningPrograms();
  for (const folder of others) {
    if (programs.some((program) => program.startsWith(`${folder}/`))) continue;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The programs of all processes that this user may see; root sees all. */
function listRunningPrograms(): string[] {
  const programs: string[] = [];
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      programs.push(readlinkSync(`/proc/${pid}/exe`));
    } catch {
      // The process has ended, or belongs to the kernel.
    }
  }
  return programs;
}
