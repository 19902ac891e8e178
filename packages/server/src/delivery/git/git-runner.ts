import { randomUUID } from 'node:crypto';
import { chownSync, existsSync } from 'node:fs';
import { lstat, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createOwnerTurns } from '../../kernel/http/owner-turns.ts';
import { problem, withHeaders } from '../../kernel/http/problems.ts';
import type { Log } from '../../kernel/log.ts';
import type { Git, GitCall, GitProcess, GitResult, Scratch } from './git.ts';
import { createGitEnvironment } from './git-environment.ts';
import { findGitProgram, type GitProgram, type GitUser } from './git-program.ts';
import type { Launch } from './launch-messages.ts';
import { launchProgram } from './launcher.ts';

export interface GitOptions {
  /** For temporary files, and the home of git. Absolute; belongs to `user`. */
  folder: string;
  /** Undefined: the user of the server. */
  user?: GitUser | undefined;
  /** The PATH of the server. */
  searchPath?: string | undefined;
  /** The largest pack or file that git may write. */
  mostBytes: number;
  /** Processes of git at once. */
  processes: { ofServer: number; ofAccount: number };
  log: Log;
  stopping: AbortSignal;
}

const defaultTimeoutMilliseconds = 60_000;
const defaultMostOutputBytes = 64 * 1_048_576;
const mostErrorBytes = 16_384;
/** Calls of one account that wait for a turn. */
const mostWaiting = 200;
const busySeconds = 2;
/** A client waits for a long call, but not with others' requests: it packs, or checks objects, for seconds. */
const niceness = { short: 0, long: 10, background: 19 } as const;
/** What git may write beyond the largest pack. */
const spareBytes = 64 * 1_048_576;

/** Nothing is looked for or started before the first use. */
export function createGit(options: GitOptions): Git {
  const { folder, user, log } = options;
  const scratch = join(folder, 'scratch');
  const home = join(folder, 'home');
  const makeFolder = createFolderMaker(user);
  const turns = { short: createTurns(options.processes), long: createTurns(options.processes) };
  let finding: ReturnType<typeof findGitProgram> | undefined;

  async function find() {
    const found = await findGitProgram(options.searchPath, user, options.mostBytes + spareBytes);
    if ('fault' in found) log.warn({ fault: found.fault }, 'repositories cannot be used: there is no git');
    else if (found.lacks.length > 0)
      log.warn({ lacks: found.lacks }, 'git is less confined than it could be: install util-linux');
    await rm(scratch, { recursive: true, force: true });
    for (const each of [scratch, home]) await makeFolder(each);
    return found;
  }

  function findOnce(): ReturnType<typeof findGitProgram> {
    if (finding === undefined) {
      const begun = find();
      finding = begun;
      // A full disk, for example, may pass.
      begun.catch(() => {
        finding = undefined;
      });
    }
    return finding;
  }

  async function start(args: readonly string[], call: GitCall): Promise<GitProcess> {
    const program = await findOnce();
    if ('fault' in program) throw problem('git-missing', program);
    const endTurn = await turns[call.kind ?? 'short'](call.accountId);
    try {
      call.signal?.throwIfAborted();
      if (options.stopping.aborted) throw problem('shutting-down');
      const isRepository = existsSync(join(call.folder, 'HEAD'));
      if (isRepository) await protectSettings(call.folder, user);
      const started = await startProcess(program, args, call, { ...options, home, isRepository });
      void started.ended.finally(endTurn).catch(() => undefined);
      return started;
    } catch (failure) {
      endTurn();
      throw failure;
    }
  }

  return {
    check: findOnce,
    spawn: start,
    run: async (args, call) => collect(await start(args, call), args, call),
    makeFolder,
    async writeFile(path, content) {
      await makeFolder(dirname(path));
      await writeOwnFile(path, content, user);
    },
    makeRepository: (at, { defaultBranch = 'main' } = {}) => makeRepository(at, defaultBranch, options),
    async makeScratch(): Promise<Scratch> {
      await findOnce();
      const path = join(scratch, randomUUID());
      await makeFolder(path);
      return { folder: path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) };
    },
  };
}

async function makeRepository(at: string, defaultBranch: string, { user }: GitOptions): Promise<void> {
  if (existsSync(join(at, 'HEAD'))) return;
  const makeFolder = createFolderMaker(user);
  for (const name of ['objects/pack', 'objects/info', 'refs/heads', 'refs/tags', 'info'])
    await makeFolder(join(at, name));
  await protectSettings(at, user);
  // Last: with it the folder is a repository.
  await writeOwnFile(join(at, 'HEAD'), `ref: refs/heads/${defaultBranch}\n`, user);
}

/** Bounds the processes of an account, then those of the server. */
function createTurns({ ofServer, ofAccount }: GitOptions['processes']) {
  const refuse = () =>
    withHeaders(problem('git-busy', { seconds: busySeconds }), { 'Retry-After': String(busySeconds) });
  const ofOwner = createOwnerTurns({ running: ofAccount, waiting: mostWaiting }, refuse);
  const ofAll = createOwnerTurns({ running: ofServer, waiting: 20 * mostWaiting }, refuse);

  return (owner: string): Promise<() => void> =>
    new Promise((resolve, reject) => {
      const hold = () => new Promise<void>((release) => resolve(release));
      ofOwner.run(owner, () => ofAll.run('', hold)).catch(reject);
    });
}

async function startProcess(
  program: GitProgram,
  args: readonly string[],
  call: GitCall,
  options: GitOptions & { home: string; isRepository: boolean },
): Promise<GitProcess> {
  const { timeoutMilliseconds = defaultTimeoutMilliseconds } = call;
  const fail = (failure: Error): never => {
    throw problem('git-failed', { command: args[0] ?? '', words: failure.message });
  };
  const launched = await launchProgram(describeLaunch(program, args, call, options)).catch(fail);
  const { stdin, stdout } = launched;
  let isTimedOut = false;
  let isKilled = false;
  const kill = () => {
    isKilled = true;
    launched.kill();
    // Output that is not read would keep the process from having ended.
    stdout.destroy();
  };
  const timer = setTimeout(() => {
    isTimedOut = true;
    kill();
  }, timeoutMilliseconds);
  const stops = [call.signal, options.stopping].filter((each) => each !== undefined);
  for (const each of stops) each.addEventListener('abort', kill, { once: true });
  if (stops.some(({ aborted }) => aborted)) kill();
  let errors = '';
  launched.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (errors.length < mostErrorBytes) errors = (errors + text).slice(0, mostErrorBytes);
  });
  const ended = launched.ended
    .catch(fail)
    .then((code) => {
      if (isTimedOut) throw problem('git-timeout', { seconds: Math.ceil(timeoutMilliseconds / 1_000) });
      if (isKilled && options.stopping.aborted) throw problem('shutting-down');
      return { code, stderr: cleanGitWords(errors, [call.folder, options.folder]) };
    })
    .finally(() => {
      clearTimeout(timer);
      for (const each of stops) each.removeEventListener('abort', kill);
    });
  ended.catch(() => undefined);
  return { stdin, stdout, ended, kill };
}

function describeLaunch(
  program: GitProgram,
  args: readonly string[],
  { remote, local, folder, environment, kind, isBackground = false }: GitCall,
  { home, mostBytes, isRepository, user }: GitOptions & { home: string; isRepository: boolean },
): Launch {
  const protocols = remote === undefined ? (local === true ? 'file' : '') : 'http';
  return {
    words: [...program.launcher[remote === undefined ? 'closed' : 'open'], program.path, ...args],
    cwd: folder,
    env: {
      ...createGitEnvironment({ programFolder: dirname(program.path), home, mostBytes, protocols }),
      // No folder above is taken for a repository.
      ...(isRepository ? { GIT_DIR: folder } : { GIT_CEILING_DIRECTORIES: dirname(folder) }),
      ...environment,
      ...remote?.environment,
    },
    // Without setpriv, the launcher changes the user.
    user:
      user !== undefined && program.launcher.open.length === 0 ? { uid: user.uid, gid: user.gid } : undefined,
    niceness: isBackground ? niceness.background : niceness[kind ?? 'short'],
  };
}

async function collect(started: GitProcess, args: readonly string[], call: GitCall): Promise<GitResult> {
  const { mostOutputBytes = defaultMostOutputBytes, stdin } = call;
  if (stdin instanceof Readable) pipeline(stdin, started.stdin).catch(() => undefined);
  else started.stdin.end(stdin ?? '');
  const chunks: Buffer[] = [];
  let bytes = 0;
  started.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= mostOutputBytes) chunks.push(chunk);
    else {
      if (call.cutsOutput === true && bytes - chunk.length < mostOutputBytes)
        chunks.push(chunk.subarray(0, mostOutputBytes - bytes));
      started.kill();
    }
  });
  const { code, stderr } = await started.ended;
  const isCut = bytes > mostOutputBytes;
  if (isCut && call.cutsOutput === true) return { code: 0, stdout: Buffer.concat(chunks), stderr, isCut };
  if (isCut) throw problem('git-answer-too-large', { bytes: mostOutputBytes });
  call.signal?.throwIfAborted();
  if (code === undefined)
    throw problem('git-failed', { command: args[0] ?? '', words: stderr || 'it was ended' });
  return { code, stdout: Buffer.concat(chunks), stderr, isCut };
}

function createFolderMaker(user: GitUser | undefined): Git['makeFolder'] {
  return async function makeFolder(path) {
    if (existsSync(path)) return;
    await makeFolder(dirname(path));
    await mkdir(path, { mode: 0o700 }).catch((failure: NodeJS.ErrnoException) => {
      if (failure.code !== 'EEXIST') throw failure;
    });
    if (user !== undefined) chownSync(path, user.uid, user.gid);
  };
}

async function writeOwnFile(path: string, content: string, user: GitUser | undefined): Promise<void> {
  await writeFile(path, content, { mode: 0o600, flag: 'wx' }).catch((failure: NodeJS.ErrnoException) => {
    if (failure.code !== 'EEXIST') throw failure;
  });
  if (user !== undefined) chownSync(path, user.uid, user.gid);
}

/** Words of git for people: without the server's paths, addresses and what looks like a credential. */
export function cleanGitWords(text: string, folders: readonly string[]): string {
  let words = text;
  for (const folder of folders) words = words.replaceAll(folder, '(repository)');
  return words
    .replaceAll(/(?<![a-z0-9+.-])[a-z0-9+.-]+:\/\/[^\s'"]+/gi, '(address)')
    .replaceAll(/\b(authorization|proxy-authorization|extraheader)\b[^\n]*/gi, '$1: (hidden)')
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
    .trim();
}

const settingsFile = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
`;
/** Files by which a repository would borrow objects, read attributes or graft commits. */
const unwanted = ['objects/info/alternates', 'info/attributes', 'info/grafts', 'config.worktree', 'hooks'];

/**
 * Protects the files of a bare repository that decide what git does. They are ours: before each use they are
 * compared with what they must be, and written again if something changed them.
 *
 * @throws if the folder is not a bare repository of ours */
async function protectSettings(folder: string, user: GitUser | undefined): Promise<void> {
  const path = join(folder, 'config');
  const found = await lstat(path).catch(() => undefined);
  const isOurs = found?.isFile() === true && (await readFile(path, 'utf8')) === settingsFile;
  if (!isOurs) await writeSettings(folder, path, user);
  for (const name of unwanted) await rm(join(folder, name), { recursive: true, force: true });
}

async function writeSettings(folder: string, path: string, user: GitUser | undefined): Promise<void> {
  const temporary = join(folder, `config.${randomUUID()}`);
  await writeFile(temporary, settingsFile, { mode: 0o600, flag: 'wx' });
  if (user !== undefined) chownSync(temporary, user.uid, user.gid);
  await rename(temporary, path);
}
