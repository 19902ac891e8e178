/**
 * The calls of git that a migration makes.
 *
 * Only branches and tags are fetched and pushed: providers keep others for themselves (refs/pull/*,
 * refs/merge-requests/*) and refuse them.
 */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Git, GitCall, GitResult } from '../../git/index.ts';
import type { OpenedRemote, RemoteFailure } from '../../git-remotes/index.ts';
import { explainGitFailure, MigrationFailed, refuseObjectFormat, type Side } from './migration-failure.ts';
import { findGuiltyRefs, type PushResult, parsePushResult } from './push-result.ts';
import { canBeArgument, nameSome, parseRemoteRefs, type RemoteRefs, showRef } from './remote-refs.ts';

export interface Place {
  git: Git;
  /** A bare repository. */
  folder: string;
  accountId: string;
  signal: AbortSignal;
  /** False: a request waits for it. */
  isBackground: boolean;
}

/** A repository on another host, as this migration reaches it. */
export interface Reached extends Side {
  /** For one call of git, so that what the relay saw belongs to that call. */
  open: () => Promise<OpenedRemote>;
}

interface RemoteResult extends GitResult {
  failure: RemoteFailure | undefined;
}

/** Runs git with the address of a remote, and refspecs behind it. */
async function runWithRemote(
  place: Place,
  reached: Reached,
  args: readonly string[],
  refspecs: readonly string[],
  timeoutMilliseconds: number,
): Promise<RemoteResult> {
  const remote = await reached.open();
  try {
    const result = await place.git.run([...args, '--end-of-options', remote.url, ...refspecs], {
      ...buildCall(place),
      kind: 'long',
      remote,
      mostOutputBytes: mostListBytes,
      timeoutMilliseconds,
    });
    return { ...result, failure: await remote.readFailure() };
  } finally {
    remote.close();
  }
}

const mostListBytes = 64 * 1024 * 1024;
const sha256Digits = 64;
const longMilliseconds = 6 * 3_600_000;
const listMilliseconds = 120_000;

const buildCall = ({ folder, accountId, signal, isBackground }: Place): GitCall => ({
  folder,
  accountId,
  signal,
  isBackground,
});

export async function listRemoteRefs(place: Place, reached: Reached, mostRefs: number): Promise<RemoteRefs> {
  const result = await runWithRemote(place, reached, ['ls-remote', '--symref'], [], listMilliseconds);
  if (result.code !== 0) throw explainGitFailure(reached, result.failure, result);
  const found = parseRemoteRefs(result.stdout);
  const [id = ''] = found.refs.values();
  if (id.length === sha256Digits) throw refuseObjectFormat(reached);
  return requireFewRefs(reached, found, mostRefs);
}

function requireFewRefs({ side }: Side, found: RemoteRefs, mostRefs: number): RemoteRefs {
  if (found.refs.size <= mostRefs) return found;
  throw new MigrationFailed(
    'too-many-refs',
    `The ${side} has ${found.refs.size} branches and tags; at most ${mostRefs} can be migrated. Delete those that nobody needs.`,
  );
}

/**
 * The refs of a repository in a folder of ours. Git leaves out one whose file is damaged, and only warns of it.
 *
 * @throws MigrationFailed `source-damaged`
 */
export async function listOwnRefs(place: Place, mostRefs: number): Promise<RemoteRefs> {
  // As `git ls-remote --symref` writes them.
  const format = '%(if)%(HEAD)%(then)ref: %(refname)%09HEAD%0a%(end)%(objectname)%09%(refname)';
  const { code, stdout, stderr } = await place.git.run(['for-each-ref', `--format=${format}`], {
    ...buildCall(place),
    mostOutputBytes: mostListBytes,
  });
  if (code !== 0 || /\bignoring\b/.test(stderr))
    throw new MigrationFailed(
      'source-damaged',
      `git could not read all branches and tags of the source: ${stderr.trim().slice(-300)}`,
    );
  return requireFewRefs({ side: 'source' } as Side, parseRemoteRefs(stdout), mostRefs);
}

/**
 * Makes the place a copy of all branches and tags. Unlike a fetch, a clone writes all refs into one file and
 * checks the objects once. Nothing is synced to disk: after a crash another server begins again.
 */
export async function cloneRefs(place: Place, reached: Reached): Promise<void> {
  await rm(place.folder, { recursive: true, force: true, maxRetries: 3 });
  const beside = { ...place, folder: dirname(place.folder) };
  const args = ['-c', 'core.fsync=none', 'clone', '--bare', '--quiet'];
  const result = await runWithRemote(beside, reached, args, [basename(place.folder)], longMilliseconds);
  if (result.code !== 0) throw explainGitFailure(reached, result.failure, result);
  // Git copies a shallow repository as one, which hosts refuse in words that nobody understands.
  if (existsSync(join(place.folder, 'shallow')))
    throw new MigrationFailed(
      'source-shallow',
      'The source is a shallow clone: its older commits are missing, and hosts refuse such a history. Run "git fetch --unshallow" in the source, then start again.',
    );
}

/** Fetches all branches and tags, or those that are named. */
export async function fetchRefs(
  place: Place,
  reached: Reached,
  refspecs: readonly string[] = ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*'],
  more: readonly string[] = ['--prune'],
): Promise<void> {
  const fixed = ['fetch', '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--quiet'];
  const result = await runWithRemote(place, reached, [...fixed, ...more], refspecs, longMilliseconds);
  if (result.code !== 0) throw explainGitFailure(reached, result.failure, result);
}

export interface Pushing {
  /** Refs of the target may be moved to commits that are no descendants. */
  force: boolean;
  /** Refs that may be replaced if they are still at this object, although `force` is false. */
  leases: ReadonlyMap<string, string>;
}

/**
 * Pushes all branches and tags at once.
 *
 * @returns false if the host cannot take them at once; nothing was pushed then
 */
export async function pushAtOnce(
  place: Place,
  reached: Reached,
  { force, leases }: Pushing,
): Promise<boolean> {
  const mark = force ? '+' : '';
  const leased = [...leases].map(([name, id]) => `--force-with-lease=${showRef(name)}:${id}`);
  const refspecs = [`${mark}refs/heads/*:refs/heads/*`, `${mark}refs/tags/*:refs/tags/*`];
  const result = await push(place, reached, ['--atomic', ...leased], refspecs);
  if (result.lacksAtomic) return false;
  return true;
}

/** Pushes some refs. Those that a repeated call finds there are left alone by git. */
export async function pushChunk(
  place: Place,
  reached: Reached,
  refs: readonly (readonly [name: string, id: string])[],
  { force, leases }: Pushing,
): Promise<void> {
  const odd = refs.filter(([name]) => !canBeArgument(name)).map(([name]) => name);
  if (odd.length > 0)
    throw new MigrationFailed(
      'git-failed',
      `The host takes no atomic push, and these names are not UTF-8, so they cannot be pushed one by one: ${nameSome(odd)}. Rename them in the source.`,
    );
  const leased = refs
    .filter(([name]) => leases.has(name))
    .map(([name]) => `--force-with-lease=${showRef(name)}:${leases.get(name)}`);
  const refspecs = refs.map(([name, id]) => `${force ? '+' : ''}${id}:${showRef(name)}`);
  await push(place, reached, leased, refspecs);
}

async function push(
  place: Place,
  reached: Reached,
  options: readonly string[],
  refspecs: readonly string[],
): Promise<PushResult> {
  const args = ['push', '--porcelain', '--no-verify', '--no-signed', '--quiet', ...options];
  const answered = await runWithRemote(place, reached, args, refspecs, longMilliseconds);
  const result = parsePushResult(answered.stdout, answered.stderr);
  if (answered.code === 0 || result.lacksAtomic) return result;
  const failure = explainRejection(reached, result, answered);
  failure.rejected = findGuiltyRefs(result.rejected);
  throw failure;
}

function explainRejection(
  reached: Reached,
  { rejected }: PushResult,
  { failure, stderr }: RemoteResult,
): MigrationFailed {
  const guilty = findGuiltyRefs(rejected);
  const [first] = guilty;
  if (first === undefined || failure !== undefined) return explainGitFailure(reached, failure, { stderr });
  const names = nameSome(guilty.map(({ name }) => name));
  if (/\(fetch first\)|\(stale info\)|\(already exists\)|\(needs force\)/.test(first.reason))
    return new MigrationFailed(
      'target-changed',
      `Somebody pushed to the target during the migration: ${names}. Start again when nobody pushes there.`,
    );
  const text = `${stderr.trim().slice(-600)} ${first.reason}`;
  const { code, detail, remedy } = reached.provider.explainFailure({ text });
  return new MigrationFailed(code, `The target refused ${names}: ${detail} ${remedy}`);
}

/** Git knows this object, so it need not be written. */
const emptyTree = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';

/**
 * Asks whether the credential may push: git connects for a push of one new branch and sends nothing. It
 * proves that the host lets the credential begin a push. It does not prove what the rules of branches and
 * hooks allow.
 */
export async function pushDry(place: Place, reached: Reached): Promise<void> {
  const person = { GIT_AUTHOR_NAME: 'Headgate', GIT_AUTHOR_EMAIL: 'headgate@localhost' };
  const committer = { GIT_COMMITTER_NAME: 'Headgate', GIT_COMMITTER_EMAIL: 'headgate@localhost' };
  const made = await place.git.run(['commit-tree', '-m', 'preflight', emptyTree], {
    ...buildCall(place),
    environment: { ...person, ...committer },
  });
  const commit = made.stdout.toString().trim();
  await push(place, reached, ['--dry-run'], [`${commit}:refs/heads/headgate-preflight`]);
}

/** @throws MigrationFailed if git cannot tell */
export async function isAncestor(place: Place, ancestor: string, descendant: string): Promise<boolean> {
  const args = ['merge-base', '--is-ancestor', ancestor, descendant];
  const { code, stderr } = await place.git.run(args, buildCall(place));
  if (code !== 0 && code !== 1)
    throw new MigrationFailed('git-failed', `git could not compare branches: ${stderr.trim().slice(-300)}`);
  return code === 0;
}

/** The raw text of a commit, or undefined. */
export async function readRawCommit(place: Place, commitId: string): Promise<string | undefined> {
  const result = await place.git.run(['cat-file', 'commit', commitId], buildCall(place));
  return result.code === 0 ? result.stdout.toString() : undefined;
}

/** The names in the root of a commit. */
export async function listRootNames(place: Place, commitId: string): Promise<string[]> {
  const result = await place.git.run(['ls-tree', '-z', '--name-only', commitId], buildCall(place));
  return result.stdout
    .toString()
    .split('\0')
    .filter((name) => name !== '');
}

export async function countObjects(place: Place): Promise<number> {
  const result = await place.git.run(['count-objects', '-v'], buildCall(place));
  const counts = [...result.stdout.toString().matchAll(/^(?:count|in-pack): (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Lists all objects of the repository: `<id> <type> <size>`. */
export async function* listObjects(place: Place): AsyncGenerator<readonly [string, string, number]> {
  const format = '--batch-check=%(objectname) %(objecttype) %(objectsize)';
  for await (const line of readLines(place, ['cat-file', '--batch-all-objects', '--unordered', format])) {
    const [id = '', type = '', size] = line.split(' ');
    yield [id, type, Number(size)];
  }
}

/** Lists the objects that branches and tags reach, with the path by which each was found first. */
export async function* listReachable(place: Place): AsyncGenerator<readonly [id: string, path: string]> {
  for await (const line of readLines(place, ['rev-list', '--objects', '--branches', '--tags'])) {
    const space = line.indexOf(' ');
    yield space < 0 ? [line, ''] : [line.slice(0, space), line.slice(space + 1)];
  }
}

async function* readLines(place: Place, args: readonly string[]): AsyncGenerator<string> {
  const call = { ...buildCall(place), kind: 'long', timeoutMilliseconds: longMilliseconds } as const;
  const running = await place.git.spawn(args, call);
  running.stdin.end();
  try {
    yield* createInterface({ input: running.stdout, crlfDelay: Number.POSITIVE_INFINITY });
    const { code, stderr } = await running.ended;
    if (code !== 0 && !place.signal.aborted)
      throw new MigrationFailed(
        'source-damaged',
        `git could not read all objects of the source: ${stderr.trim().slice(-300)}`,
      );
  } finally {
    running.kill();
  }
}
