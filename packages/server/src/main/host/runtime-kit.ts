// Copies of what unprivileged processes run, for when they cannot reach the checkout.
//
// Terminology
//   kit    a folder that holds all that one process needs to run: PostgreSQL's programs, or the agent with its Node,
//          its sources and their dependencies, laid out as in the checkout so that imports resolve
//   stamp  digest of what the kit is made from; the kit's name. A kit is never changed, only made anew and removed.
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

/** A kit that was asked for this recently may be about to be used, though no process runs from it yet. */
const KEEP_UNUSED_MS = 10 * 60_000;
/** Raised when the layout of a kit changes. */
const LAYOUT = 1;

/** What a kit is made from, by absolute path. Installed files never change in place; sources do. */
type Contents = Map<string, { to: string; installed: boolean }>;

/** @returns the folder of PostgreSQL's programs, with the same layout as `native` */
export function postgresKit(native: string, runtimeFolder: string): string {
  const contents: Contents = new Map([[native, { to: 'native', installed: true }]]);
  return join(kit('postgres', contents, runtimeFolder), 'native');
}

/**
 * @param node the Node program to take along
 * @returns the Node program and the folder that stands for the checkout, both in the kit
 */
export function agentKit(
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
  const folder = kit('agent', contents, runtimeFolder);
  return { node: join(folder, 'bin', 'node'), checkout: folder };
}

/** Adds what the package in `folder` depends on, and what that depends on. */
function addDependencies(checkout: string, folder: string, contents: Contents): void {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const names = Object.keys({
    ...manifest.dependencies,
    ...manifest.optionalDependencies,
    ...manifest.peerDependencies,
  });
  for (const name of names) {
    // Optional ones of other platforms are absent; workspace packages are in the kit already.
    const found = name.startsWith('@headgate/') ? undefined : resolvePackage(checkout, folder, name);
    if (found === undefined || contents.has(found)) continue;
    contents.set(found, { to: relative(checkout, found), installed: true });
    addDependencies(checkout, found, contents);
  }
}

/** Node's own way: the nearest node_modules that has it. */
function resolvePackage(checkout: string, from: string, name: string): string | undefined {
  for (let folder = from; folder.startsWith(checkout); folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return candidate;
  }
  return undefined;
}

function kit(name: string, contents: Contents, runtimeFolder: string): string {
  const folder = join(runtimeFolder, `${name}-${stampOf(contents)}`);
  // Others must be able to read it whatever the operator's own umask is; nothing here waits, so nobody else sees this one.
  const umask = process.umask(0o022);
  try {
    mkdirSync(runtimeFolder, { recursive: true });
    if (!existsSync(folder))
      make(folder, join(runtimeFolder, `${name}-new-${randomBytes(6).toString('hex')}`), contents);
  } finally {
    process.umask(umask);
  }
  const now = new Date();
  utimesSync(folder, now, now);
  removeUnused(name, folder, runtimeFolder);
  return folder;
}

function make(folder: string, draft: string, contents: Contents): void {
  try {
    for (const [from, { to, installed }] of contents) copy(from, join(draft, to), installed);
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    // Another start on this machine may have made the same kit in the meantime.
    if (!existsSync(folder)) throw error;
  }
}

/** Of what npm installed, the package's own manifest stands for the rest; of sources, every file counts. */
function stampOf(contents: Contents): string {
  const digest = createHash('sha256').update(`${LAYOUT} ${process.platform}-${process.arch}\n`);
  for (const [from, { installed }] of contents) {
    const manifest = join(from, 'package.json');
    const installedFiles = existsSync(manifest) ? [from, manifest] : [from];
    for (const path of installed ? installedFiles : filesBelow(from)) {
      const stat = lstatSync(path);
      digest.update(`${path} ${stat.size} ${stat.mtimeMs} ${stat.ino}\n`);
    }
  }
  return digest.digest('hex').slice(0, 16);
}

function filesBelow(path: string): string[] {
  if (!lstatSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .sort()
    .filter(belongs)
    .flatMap((name) => filesBelow(join(path, name)));
}

/** A package's nested dependencies are taken along by name, if they are needed at all. */
function belongs(name: string): boolean {
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
      if (belongs(name)) copy(join(from, name), join(to, name), installed);
  } else if (stat.isFile()) {
    copyFile(from, to, stat, installed);
  }
}

/**
 * A second name for the same file when that will do: not for sources, which editors change in place, and not for a file
 * that others may not read, because the mode is the same under both names.
 */
function copyFile(from: string, to: string, stat: Stats, installed: boolean): void {
  const executable = (stat.mode & 0o100) !== 0;
  const open = executable ? 0o555 : 0o444;
  if (installed && (stat.mode & open & 0o005) === (open & 0o005)) {
    try {
      linkSync(from, to);
      return;
    } catch {
      // Another file system, or one without hard links: copied below.
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
  const programs = runningPrograms();
  for (const folder of others) {
    if (programs.some((program) => program.startsWith(`${folder}/`))) continue;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The files that processes of this machine run, as far as this user may see; root sees all. */
function runningPrograms(): string[] {
  const programs: string[] = [];
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      programs.push(readlinkSync(`/proc/${pid}/exe`));
    } catch {
      // It ended, or is the kernel's own.
    }
  }
  return programs;
}
