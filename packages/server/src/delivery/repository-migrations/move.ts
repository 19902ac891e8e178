/** MIRROR_PUSH: fetches, moves LFS objects, pushes, and verifies each ref. */

import { setTimeout as delay } from 'node:timers/promises';
import type { MigrationPhase } from '@headgate/contract';
import { openGitRepository, type Scratch } from '../git/index.ts';
import type { Remotes } from '../git-remotes/index.ts';
import {
  cloneRefs,
  countObjects,
  fetchRefs,
  listOwnRefs,
  listRemoteRefs,
  type Place,
  type Pushing,
  pushAtOnce,
  pushChunk,
} from './git/git-calls.ts';
import { MigrationFailed, type PushOutcome } from './git/migration-failure.ts';
import { findUnverified } from './git/ref-rules.ts';
import { nameSome, type RemoteRefs } from './git/remote-refs.ts';
import type { Limits, Opened } from './hosts.ts';
import {
  copyLfsObjects,
  findPointers,
  keepReachable,
  requireFewBytes,
  requireSmall,
} from './lfs/lfs-copy.ts';

export interface Mover extends Opened {
  remotes: Remotes;
  /** For what is fetched. The folder need not exist. */
  place: Place;
  scratch: Scratch;
  limits: Limits;
  pushing: Pushing;
  /** Before another attempt, after the connection failed. */
  retryMilliseconds: readonly number[];
  /** Writes the phase, and throws if the lease is lost. */
  enter: (phase: MigrationPhase, percent: number) => Promise<void>;
  show: (percent: number) => void;
  addBytes: (bytes: number) => void;
}

export interface Moved {
  refs: RemoteRefs;
  objects: number;
  lfsObjects: number;
  lfsBytes: number;
  pushedAtomically: boolean | undefined;
}

const chunkRefs = 200;
/** Without a word of git. */
const readMilliseconds = 600_000;
/** A source whose branches move all the time is given up. */
const mostRounds = 3;

export async function moveRepository(mover: Mover): Promise<Moved> {
  for (let round = 1; ; round += 1) {
    const { moved, changed } = await moveOnce(mover, round === 1);
    if (changed.length === 0) return moved;
    if (round === mostRounds)
      throw new MigrationFailed(
        'source-changed',
        `Branches of the source were pushed to while they were copied: ${nameSome(changed)}. Stop pushing to the source, and start again.`,
      );
    // What was pushed so far is ours, so it may be replaced.
    const ours = changed.flatMap((name) => {
      const id = moved.refs.refs.get(name);
      return id === undefined ? [] : [[name, id] as const];
    });
    mover.pushing = { ...mover.pushing, leases: new Map(ours) };
  }
}

async function moveOnce(mover: Mover, isFirst: boolean): Promise<{ moved: Moved; changed: string[] }> {
  await mover.enter('FETCHING', 10);
  const place = await fetchSource(mover, isFirst);
  const objects = await requireFewObjects(place, mover.limits.mostObjects);
  await mover.enter('LFS', 45);
  const [refs, lfs] = await Promise.all([listOwnRefs(place, mover.limits.mostRefs), moveLfs(mover, place)]);
  await mover.enter('PUSHING', 60);
  const pushedAtomically = refs.refs.size === 0 ? undefined : await pushAll(mover, place, refs);
  await mover.enter('VERIFYING', 95);
  const [found, changed] = await Promise.all([
    retry(mover, () => listRemoteRefs(place, mover.target.reached, mover.limits.mostRefs * 2)),
    findChanged(mover, refs),
  ]);
  const wrong = findUnverified(refs.refs, found);
  if (wrong.length > 0)
    throw new MigrationFailed(
      'verification-failed',
      `After the push ${wrong.length} refs of the target are not at the object of the source: ${nameSome(wrong)}. The project still uses the source.`,
    );
  return { moved: { refs, objects, ...lfs, pushedAtomically }, changed };
}

/** A repository that is hosted here is pushed from where it is: nothing can change it during a migration. */
async function fetchSource(mover: Mover, isFirst: boolean): Promise<Place> {
  const { source, place } = mover;
  if (source.reached === undefined) return { ...place, folder: source.folder ?? place.folder };
  const { reached } = source;
  await retry(mover, () => (isFirst ? cloneRefs(place, reached) : fetchRefs(place, reached)));
  return place;
}

/** Each object is looked at for Git LFS. @throws MigrationFailed `too-many-objects` */
async function requireFewObjects(place: Place, most: number): Promise<number> {
  const count = await countObjects(place);
  if (count <= most) return count;
  throw new MigrationFailed(
    'too-many-objects',
    `The source has ${count} objects; at most ${most} can be migrated. Shorten its history, or push it to the target by git and use RECONFIGURE.`,
  );
}

async function moveLfs(mover: Mover, place: Place): Promise<Pick<Moved, 'lfsObjects' | 'lfsBytes'>> {
  const { limits } = mover;
  const patient = { kind: 'long', isBackground: true, timeoutMilliseconds: readMilliseconds } as const;
  const repository = openGitRepository(place.git, { ...place, ...patient });
  const all = await findPointers(place, repository, limits.mostLfsObjects);
  // A hosted repository also has objects that no ref reaches, a clone those of a detached HEAD.
  const pointers = all.length > 0 ? await keepReachable(place, all) : all;
  if (pointers.length === 0) return { lfsObjects: 0, lfsBytes: 0 };
  const { source, target, remotes } = mover;
  await requireSmall(place, pointers, limits.mostBytes);
  requireFewBytes(pointers, limits.mostLfsBytes);
  if (source.reached === undefined || source.cloneUrl === undefined)
    throw new MigrationFailed(
      'lfs-objects-missing',
      `The source has ${pointers.length} files in Git LFS, and this server stores no LFS objects. Remove the files from LFS with "git lfs migrate export", or move the repository from the host that has them.`,
    );
  const { signal } = place;
  const from = {
    ...source.reached,
    remotes,
    cloneUrl: source.cloneUrl,
    credential: source.credential,
    signal,
  };
  const to = { ...target.reached, remotes, cloneUrl: target.cloneUrl, credential: target.credential, signal };
  const endsAt = performance.now() + limits.totalMilliseconds;
  const copied = await retry(mover, () =>
    copyLfsObjects(
      {
        source: from,
        target: to,
        place,
        folder: mover.scratch.folder,
        endsAt,
        onBytes: mover.addBytes,
        onProgress: (done, total) => mover.show(45 + Math.floor((15 * done) / total)),
      },
      pointers,
    ),
  );
  return { lfsObjects: pointers.length, lfsBytes: copied };
}

/** @returns whether the target took all refs at once */
async function pushAll(mover: Mover, place: Place, refs: RemoteRefs): Promise<boolean> {
  try {
    return await pushInParts(mover, place, refs);
  } catch (failure) {
    if (failure instanceof MigrationFailed) failure.push = await findOutcome(mover, place, refs, failure);
    throw failure;
  }
}

/** What became of each ref; undefined if the target cannot be asked. */
async function findOutcome(
  { target, limits }: Mover,
  place: Place,
  { refs }: RemoteRefs,
  { rejected }: MigrationFailed,
): Promise<PushOutcome | undefined> {
  const there = await listRemoteRefs(place, target.reached, limits.mostRefs * 2).catch(() => undefined);
  if (there === undefined) return undefined;
  const refusedNames = new Set(rejected.map(({ name }) => name));
  const arrived: string[] = [];
  const notTried: string[] = [];
  for (const [name, id] of refs) {
    if (there.refs.get(name) === id) arrived.push(name);
    else if (!refusedNames.has(name)) notTried.push(name);
  }
  return { arrived, refused: rejected, notTried };
}

async function pushInParts(mover: Mover, place: Place, { refs }: RemoteRefs): Promise<boolean> {
  const { target, pushing } = mover;
  if (await retry(mover, () => pushAtOnce(place, target.reached, pushing))) return true;
  const all = [...refs];
  const { refs: there } = await listRemoteRefs(place, target.reached, mover.limits.mostRefs * 2);
  // Those of an earlier attempt stay.
  const missing = all.filter(([name, id]) => there.get(name) !== id);
  for (let at = 0; at < missing.length; at += chunkRefs) {
    await retry(mover, () => pushChunk(place, target.reached, missing.slice(at, at + chunkRefs), pushing));
    mover.show(60 + Math.floor((35 * Math.min(at + chunkRefs, missing.length)) / missing.length));
  }
  return false;
}

/** Branches and tags of the source that moved since they were fetched. */
async function findChanged(mover: Mover, copied: RemoteRefs): Promise<string[]> {
  const { source, place, limits } = mover;
  if (source.reached === undefined) return [];
  const { reached } = source;
  const now = await retry(mover, () => listRemoteRefs(place, reached, limits.mostRefs));
  return [...now.refs].filter(([name, id]) => copied.refs.get(name) !== id).map(([name]) => name);
}

/** Repeats what the connection spoiled. What has arrived stays, so that a repetition goes on. */
async function retry<Result>(
  { retryMilliseconds, place }: Mover,
  work: () => Promise<Result>,
): Promise<Result> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (failure) {
      const wait = retryMilliseconds[attempt];
      const isTransient = failure instanceof MigrationFailed && failure.isTransient;
      if (!isTransient || wait === undefined) throw failure;
      await delay(wait, undefined, { signal: place.signal });
    }
  }
}
