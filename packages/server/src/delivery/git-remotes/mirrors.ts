/**
 * Mirrors: bare copies of repositories on other hosts, so that reading them is the same as reading a hosted
 * one. A mirror is a cache: a server that does not have it makes it again.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../kernel/clock.ts';
import { Problem } from '../../kernel/http/problems.ts';
import { countObjects, type Git, type GitCall, mostPacks } from '../git/index.ts';
import type { Credential, OpenedRemote, RemoteLimits, Remotes } from './remote.ts';
import { createGitWordsProblem, createRemoteProblem } from './remote-problems.ts';

type PushResult = { kind: 'done' } | { kind: 'moved' } | { kind: 'refused'; words: string };

/** `!\tfrom:to\t[rejected] (stale info)` of git push --porcelain. */
async function judgePush(
  output: string,
  errors: string,
  explainFailure: () => Promise<Error>,
): Promise<PushResult> {
  const [, summary = ''] = /^!\t[^\t]*\t(.*)$/m.exec(output) ?? [];
  if (summary === '') throw await explainFailure();
  if (
    /stale info|fetch first|non-fast-forward|failed to update ref|incorrect old value|reference already exists|cannot lock ref/.test(
      summary,
    )
  )
    return { kind: 'moved' };
  const said = [...errors.matchAll(/^remote: (.*\S)\s*$/gm)].map(([, line]) => line).join(' ');
  return { kind: 'refused', words: `${said} ${summary}`.trim().slice(0, 1_000) };
}

export interface MirrorOptions {
  git: Git;
  remotes: Remotes;
  /** Absolute. */
  folder: string;
  clock: Clock;
  /** The largest repository that is fetched. */
  mostBytes: number;
}

export interface Mirrored {
  accountId: string;
  projectId: string;
  /** Without user and password. */
  url: string;
  credential: Credential | undefined;
  /** Names the credential without telling it. With another name the mirror is made anew. */
  credentialName: string;
  /** Whether to ask which branch the host's HEAD names. */
  wantsDefaultBranch: boolean;
}

export interface Mirror {
  folder: string;
  /** The branch that the host's HEAD names; undefined if the host does not say, or was not asked. */
  defaultBranch: string | undefined;
}

export interface RefPush {
  /** The full name. */
  name: string;
  /** The object that the host's ref must be at; null: it must not exist. */
  from: string | null;
  /** Null: the ref is deleted. */
  to: string | null;
}

export interface Mirrors {
  /**
   * Fetches what is new, unless that was done in the last moments, and not before `notBefore` (a time of
   * `performance.now()`). @throws problems of hosts and of git
   */
  refresh(of: Mirrored, notBefore?: number): Promise<Mirror>;
  /**
   * Moves one ref of the host, whose objects are in the mirror. The mirror's own refs follow at the next use: only
   * a fetch writes them, because git refuses to move a ref that another process moved since the fetch began.
   */
  push(of: Mirrored, push: RefPush, signal?: AbortSignal): Promise<PushResult>;
  remove(accountId: string, projectId: string): Promise<void>;
  /** All mirrors of this server, and when each was last fetched. */
  list(): Promise<{ accountId: string; projectId: string; folder: string; usedAt: Date }[]>;
}

const reuseMilliseconds = 2_000;
const refreshMilliseconds = 10 * 60_000;
const joinAgainMilliseconds = 3_600_000;
const pushMilliseconds = 2 * 60_000;
/** A date of git. */
const spared = '1.hour.ago';
/** The file beside the repository that says what it mirrors. */
const sourceFile = 'headgate-source';
const heads = '+refs/heads/*:refs/heads/*';
const tags = '+refs/tags/*:refs/tags/*';

export function createMirrors(options: MirrorOptions): Mirrors {
  const { git, remotes, clock } = options;
  const folderOf = (accountId: string, projectId: string) =>
    join(options.folder, accountId, `${projectId}.git`);
  const limits: Partial<RemoteLimits> = {
    mostBytesReceived: options.mostBytes,
    mostBytesSent: options.mostBytes,
    totalMilliseconds: refreshMilliseconds,
  };
  /** By folder: the fetch under way, or the last one. */
  const refreshes = new Map<
    string,
    { source: string; startedAt: number; beganAt: number; done: Promise<Mirror> }
  >();

  /** By folder: when packs could not be joined. */
  const unjoined = new Map<string, number>();

  /** A mirror that a killed git left damaged is made again. */
  async function fetch(of: Mirrored, folder: string, source: string): Promise<Mirror> {
    await prepare(folder, source);
    const { bytes, packs } = await countObjects(git, { folder, accountId: of.accountId });
    const isTooLarge = bytes > options.mostBytes;
    const isShrunk = (isTooLarge || mayJoin(folder, packs)) && (await shrink(of, folder));
    if (isTooLarge && !isShrunk) {
      await removeFolder(folder);
      await prepare(folder, source);
    }
    try {
      return await fetchInto(of, folder);
    } catch (failure) {
      if (!(failure instanceof MirrorDamaged)) throw failure;
      await removeFolder(folder);
      await prepare(folder, source);
      return await fetchInto(of, folder, true);
    }
  }

  async function fetchInto(of: Mirrored, folder: string, isNew = false): Promise<Mirror> {
    const remote = await remotes.openRemote({
      url: of.url,
      credential: of.credential,
      direction: 'read',
      limits,
    });
    const call = { folder, accountId: of.accountId, remote, timeoutMilliseconds: refreshMilliseconds };
    try {
      const defaultBranch = of.wantsDefaultBranch ? await readDefaultBranch(of, call) : undefined;
      const fetched = await git.run(
        [
          'fetch',
          '--quiet',
          '--prune',
          '--no-tags',
          '--no-write-fetch-head',
          '--force',
          remote.url,
          heads,
          tags,
        ],
        call,
      );
      if (fetched.code !== 0) {
        if (!isNew && aboutMirror.test(fetched.stderr) && (await remote.readFailure()) === undefined)
          throw new MirrorDamaged();
        throw await explain(remote, of, fetched.stderr);
      }
      const now = clock.now();
      await utimes(join(folder, sourceFile), now, now);
      return { folder, defaultBranch };
    } finally {
      remote.close();
    }
  }

  /** A request waits for the joining: one that failed is not tried again at each request. */
  function mayJoin(folder: string, packs: number): boolean {
    const since = clock.now().getTime() - (unjoined.get(folder) ?? Number.NEGATIVE_INFINITY);
    return packs > mostPacks && since >= joinAgainMilliseconds;
  }

  /**
   * Joins the packs, and removes old objects that no ref reaches, and what failed fetches have left. False: it
   * is still too large, or could not be done.
   */
  async function shrink(of: Mirrored, folder: string): Promise<boolean> {
    const call = { folder, accountId: of.accountId, kind: 'long', isBackground: true } as const;
    const timeoutMilliseconds = refreshMilliseconds;
    // A commit on its way to the host is not reached yet.
    const repack = ['repack', '-A', '-d', '-q', `--unpack-unreachable=${spared}`];
    unjoined.set(folder, clock.now().getTime());
    try {
      for (const args of [repack, ['prune', `--expire=${spared}`]])
        if ((await git.run(args, { ...call, timeoutMilliseconds })).code !== 0) return false;
    } catch (failure) {
      // `git-failed`: ended by a limit, for example of the largest file.
      if (failure instanceof Problem && /^git-(timeout|failed)$/.test(failure.code)) return false;
      throw failure;
    }
    unjoined.delete(folder);
    return (await countObjects(git, { folder, accountId: of.accountId })).bytes <= options.mostBytes;
  }

  async function readDefaultBranch(
    of: Mirrored,
    call: GitCall & { remote: OpenedRemote },
  ): Promise<string | undefined> {
    const { code, stdout, stderr } = await git.run(['ls-remote', '--symref', call.remote.url, 'HEAD'], call);
    if (code !== 0) throw await explain(call.remote, of, stderr);
    return /^ref: refs\/heads\/(.+)\tHEAD$/m.exec(stdout.toString('utf8'))?.[1];
  }

  /** The next use fetches again, after the fetch that is under way. */
  function markStale(folder: string): void {
    const last = refreshes.get(folder);
    if (last !== undefined) last.startedAt = Number.NEGATIVE_INFINITY;
  }

  /** Makes the mirror; one of another repository is removed, so that its objects cannot be read here. */
  async function prepare(folder: string, source: string): Promise<void> {
    const found = await readFile(join(folder, sourceFile), 'utf8').catch(() => undefined);
    if (found !== undefined && found === source) return;
    if (existsSync(folder)) await removeFolder(folder);
    await git.makeFolder(folder);
    await git.makeRepository(folder);
    await writeFile(join(folder, sourceFile), source, { mode: 0o600 });
  }

  return {
    async refresh(of, notBefore = 0) {
      const folder = folderOf(of.accountId, of.projectId);
      const source = describeSource(of);
      const last = refreshes.get(folder);
      if (last !== undefined) {
        const isRecent = Math.abs(clock.now().getTime() - last.startedAt) < reuseMilliseconds;
        if (isRecent && last.source === source && last.beganAt >= notBefore) return last.done;
        // Two fetches into one folder would take each other's locks.
        await last.done.catch(() => undefined);
        if (refreshes.get(folder) !== last) return this.refresh(of, notBefore);
      }
      const times = { startedAt: clock.now().getTime(), beganAt: performance.now() };
      const refresh = { ...times, source, done: fetch(of, folder, source) };
      refreshes.set(folder, refresh);
      refresh.done.catch(() => {
        if (refreshes.get(folder) === refresh) refreshes.delete(folder);
      });
      return refresh.done;
    },

    async push(of, { name, from, to }, signal) {
      const folder = folderOf(of.accountId, of.projectId);
      const remote = await remotes.openRemote({
        url: of.url,
        credential: of.credential,
        direction: 'write',
        limits,
      });
      const call = { folder, accountId: of.accountId, timeoutMilliseconds: pushMilliseconds, signal };
      try {
        const args = [
          'push',
          '--porcelain',
          `--force-with-lease=${name}:${from ?? ''}`,
          remote.url,
          `${to ?? ''}:${name}`,
        ];
        const { code, stdout, stderr } = await git.run(args, { ...call, remote });
        markStale(folder);
        if (code !== 0)
          return await judgePush(stdout.toString('utf8'), stderr, () => explain(remote, of, stderr));
        return { kind: 'done' };
      } finally {
        remote.close();
      }
    },

    async remove(accountId, projectId) {
      const folder = folderOf(accountId, projectId);
      await refreshes.get(folder)?.done.catch(() => undefined);
      refreshes.delete(folder);
      unjoined.delete(folder);
      await removeFolder(folder);
    },

    async list() {
      const found: { accountId: string; projectId: string; folder: string; usedAt: Date }[] = [];
      for (const accountId of await readdir(options.folder).catch(() => []))
        for (const name of await readdir(join(options.folder, accountId)).catch(() => [])) {
          const folder = join(options.folder, accountId, name);
          const used = await stat(join(folder, sourceFile)).catch(() => stat(folder).catch(() => undefined));
          if (used !== undefined)
            found.push({ accountId, projectId: name.replace(/\.git$/, ''), folder, usedAt: used.mtime });
        }
      return found;
    },
  };
}

/** Words of git about its own copy: a lock of a git that was killed, or a file that a power failure cut. */
const aboutMirror = /\.lock\b|bad object|corrupt|is empty|not a valid ref|broken|not a git repository/i;

class MirrorDamaged extends Error {
  override name = 'MirrorDamaged';
}

/** The source first: a folder that is only half removed is no mirror any more. */
async function removeFolder(folder: string): Promise<void> {
  await rm(join(folder, sourceFile), { force: true });
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** The address and the credential: what one token may see, another may not. */
function describeSource({ url, credentialName }: Mirrored): string {
  return `${url} ${credentialName}\n`;
}

async function explain(remote: OpenedRemote, of: Mirrored, words: string) {
  const failure = await remote.readFailure();
  return failure === undefined
    ? createGitWordsProblem(new URL(of.url).host, words)
    : createRemoteProblem(failure);
}
