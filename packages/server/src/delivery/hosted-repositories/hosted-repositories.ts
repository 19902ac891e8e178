/** Opens repositories that are hosted here, and moves their refs with a lock, an event and delivery rules. */
import { existsSync } from 'node:fs';
import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { addSeconds, type Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database/database.ts';
import { createEventSource } from '../../kernel/database/events.ts';
import { Problem, problem } from '../../kernel/http/problems.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import type { Log } from '../../kernel/log.ts';
import { explainForbidden, makeGuardParameters } from '../../kernel/security/guard.ts';
import { InactiveCaller } from '../../kernel/security/inactive-caller.ts';
import { findRequiredRoles, type Scope } from '../../kernel/security/permissions.ts';
import { type Git, type GitRepository, openGitRepository } from '../git/index.ts';
import { hasFolderToMove, takeFoldersToMove } from './dropped.store.ts';
import {
  beginWrite,
  endWriteRow,
  hasWrites,
  type LockedRepository,
  lockForWrites,
  type RefChange,
} from './hosted.store.ts';
import { tidyIfFull, tidyRepository } from './maintenance.ts';
import { type BranchRules, isProtected } from './push-judgement.ts';
import { recordWrite } from './recorded-write.ts';
import { createRepositoriesFolder, type RepositoriesFolder } from './repositories-folder.ts';

export interface HostedServices {
  database: Database;
  git: Git;
  clock: Clock;
  newId: NewId;
  log: Log;
  stopping: AbortSignal;
  /** Absolute. */
  repositoriesFolder: string;
  config: { git: { mostBytes: number } };
}

export interface HostedPlace {
  accountId: string;
  projectId: string;
}

export interface Mover {
  scope: Scope;
  projectId: string;
  requestId: string;
  /** By which the changes were judged. */
  rules: BranchRules;
  signal?: AbortSignal | undefined;
}

export interface HostedRepositories {
  folder: RepositoriesFolder;
  /**
   * Opens the repository of a project, which the caller has found to be hosted here; an empty one is made if
   * there is none. @param defaultBranch what HEAD must name
   * @throws `repositories-unavailable`, `git-missing`
   */
  open(
    at: HostedPlace & { signal?: AbortSignal | undefined },
    defaultBranch: string | null,
  ): Promise<GitRepository>;
  /**
   * Moves all refs or none, with the event of a push. Checks the right to push at that moment.
   * @returns false if a ref is not where it should be
   * @throws `forbidden`, `migration-in-progress`, `ref-refused`
   */
  move(repository: GitRepository, by: Mover, changes: readonly RefChange[]): Promise<boolean>;
  /**
   * Does a write on another host while no migration can begin to copy. `cloneUrl` is where the caller found it.
   * @throws `forbidden`, `migration-in-progress`, `concurrent-change`, `git-timeout`
   */
  writeElsewhere<Result>(
    by: Omit<Mover, 'rules'> & { cloneUrl: string },
    write: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result>;
  /** For a migration, after the commit of its row: resolves when no write that began before is under way. */
  waitForWrites(at: HostedPlace, signal: AbortSignal): Promise<void>;
  /** Moves the folders of dropped repositories of a project aside. */
  moveDropped(at: HostedPlace): Promise<void>;
}

/** When a write that has not ended is unfinished: its server has died. */
export const unfinishedAfterSeconds = 120;
/** Git ends before that, the wait for its turn included. */
const moveMilliseconds = 100_000;
const pollMilliseconds = 100;

/** Counts from before the transaction, which may have waited for a lock. */
function limitMove(began: number): AbortSignal {
  return AbortSignal.timeout(Math.max(0, Math.round(moveMilliseconds - (performance.now() - began))));
}

export function createHostedRepositories(services: HostedServices): HostedRepositories {
  const { database, git, clock, newId } = services;
  const folder = createRepositoriesFolder(services.repositoriesFolder, services);
  const live = (projectId: string) => join(folder.path, `${projectId}.git`);

  async function moveDropped({ accountId, projectId }: HostedPlace): Promise<void> {
    await database.transaction(async (tx) => {
      const names = await takeFoldersToMove(tx, { accountId, projectId, now: clock.now() });
      for (const name of names) {
        const aside = join(folder.path, 'dropped', `${name}.git`);
        if (existsSync(aside) || !existsSync(live(projectId))) continue;
        await git.makeFolder(join(folder.path, 'dropped'));
        await rename(live(projectId), aside);
      }
    });
  }

  async function open(
    { accountId, projectId, signal }: HostedPlace & { signal?: AbortSignal | undefined },
    defaultBranch: string | null,
  ): Promise<GitRepository> {
    await folder.require();
    if (await hasFolderToMove(database.read, { accountId, projectId }))
      await moveDropped({ accountId, projectId });
    const path = live(projectId);
    if (!existsSync(join(path, 'HEAD')))
      await git.makeRepository(path, { defaultBranch: defaultBranch ?? 'main' });
    const { mostBytes } = services.config.git;
    const repository = openGitRepository(git, { folder: path, accountId, signal, mostBytes });
    if (defaultBranch !== null && !(await namesBranch(path, defaultBranch)))
      await repository.writeDefaultBranch(defaultBranch);
    const freeSpace = tidyIfFull(services, { folder: path, accountId });
    return {
      ...repository,
      writeCommitObject: (write) => repository.writeCommitObject(write).catch(freeSpace),
    };
  }

  /** @param judge throws if the repository is not what the write was prepared for */
  async function begin(
    { scope, projectId, requestId }: Omit<Mover, 'rules'>,
    changes: readonly RefChange[],
    judge: (locked: LockedRepository) => void,
  ): Promise<string> {
    const writeId = newId();
    const now = clock.now();
    const source = createEventSource(scope, requestId);
    const place = { projectId, environmentName: null };
    const guard = { call: { scope, now }, place, roles: findRequiredRoles('repository:push') };
    const [begun] = await database.transaction(async (tx) => {
      const locked = await lockForWrites(tx, { accountId: scope.accountId, projectId }, 'shared');
      if (locked === undefined) throw problem('repository-not-found');
      judge(locked);
      return tx.query(beginWrite, {
        ...makeGuardParameters(guard),
        project_id: projectId,
        write_id: writeId,
        moves: JSON.stringify(changes),
        actor_kind: source.actorKind,
        request_id: requestId,
        unfinished_at: addSeconds(now, unfinishedAfterSeconds),
      });
    });
    if (begun?.is_begun === true) return writeId;
    if (begun?.standing === 'permitted' && begun.migration_id !== null)
      throw problem('migration-in-progress', { migrationId: begun.migration_id });
    if (begun?.standing === 'forbidden')
      throw await explainForbidden(database.read, scope, 'repository:push', place);
    if (begun?.standing === 'inactive') throw new InactiveCaller(scope);
    throw problem('project-not-found', { projectId });
  }

  return {
    folder,
    open,
    moveDropped,
    async move(repository, by, changes) {
      const began = performance.now();
      const writeId = await begin(by, changes, (locked) => {
        const { provider } = locked;
        if (provider !== 'headgate') throw problem('not-hosted-here', { provider });
        if (changes.some(({ name }) => isProtected(readRules(locked), name) && !isProtected(by.rules, name)))
          throw problem('ref-refused', {
            words: 'the branch has become a protected one meanwhile; try again',
          });
      });
      const at = { accountId: by.scope.accountId, projectId: by.projectId, writeId };
      const source = createEventSource(by.scope, by.requestId);
      // Not ended by the client's leaving: what began is finished.
      const signal = limitMove(began);
      const steady = openGitRepository(git, { folder: repository.folder, accountId: at.accountId, signal });
      const record = (moved: readonly RefChange[]) =>
        recordWrite(services, at, { source, changes: moved }).catch((failure: unknown) =>
          services.log.warn({ err: failure, ...at }, 'a push could not be recorded yet; a periodic job will'),
        );
      let isMoved: boolean;
      try {
        isMoved = await steady.updateRefs(changes);
      } catch (failure) {
        // After any other failure it is not known whether git has moved them: the periodic job looks.
        if (failure instanceof Problem && failure.code === 'ref-refused') await record([]);
        if (signal.aborted) throw problem('git-timeout', { seconds: moveMilliseconds / 1_000 });
        throw failure;
      }
      await record(isMoved ? changes : []);
      if (isMoved) tidyRepository(services, { folder: repository.folder, accountId: at.accountId });
      return isMoved;
    },
    async writeElsewhere(by, write) {
      // The event is that of the request. Without moves, a server that ends the write has nothing to compare.
      const began = performance.now();
      const writeId = await begin(by, [], (locked) => {
        if (locked.clone_url !== by.cloneUrl) throw problem('concurrent-change');
      });
      const at = { accountId: by.scope.accountId, projectId: by.projectId, writeId };
      const signal = limitMove(began);
      try {
        return await write(signal);
      } catch (failure) {
        throw signal.aborted ? problem('git-timeout', { seconds: moveMilliseconds / 1_000 }) : failure;
      } finally {
        await database
          .transaction((tx) => endWriteRow(tx, at))
          .catch((failure: unknown) => {
            services.log.warn({ err: failure, ...at }, 'a push could not be ended yet; a periodic job will');
          });
      }
    },
    async waitForWrites(at, signal) {
      while (await hasWrites(database.read, at)) await delay(pollMilliseconds, undefined, { signal });
    },
  };
}

const readRules = (row: {
  default_branch: string | null;
  protected_branches: string[] | null;
}): BranchRules => ({
  defaultBranch: row.default_branch,
  protectedBranches: row.protected_branches,
});

async function namesBranch(path: string, branch: string): Promise<boolean> {
  return (await readFile(join(path, 'HEAD'), 'utf8')).trim() === `ref: refs/heads/${branch}`;
}
