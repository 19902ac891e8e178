/**
 * Opens the repository of a project for reading and writing, hosted here or on another host. Both are a bare
 * repository in a folder: of another host it is a mirror, fetched before each use.
 */
import { createHash } from 'node:crypto';
import type { Database } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import type { OauthTokens } from '../enterprise-oauths/index.ts';
import { type Git, type GitRepository, openGitRepository } from '../git/index.ts';
import { type Credential, type Mirrors, unsealCredential } from '../git-remotes/index.ts';
import type { HostedRepositories, RefChange } from '../hosted-repositories/index.ts';
import {
  findRepository,
  noteDefaultBranch,
  type RepositoryPlace,
  type RepositoryRow,
  requireNoMigration,
} from './repository.store.ts';

export interface RepositoryUseServices {
  database: Database;
  sealer: Sealer;
  git: Git;
  hosted: HostedRepositories;
  mirrors: Mirrors;
  oauthTokens: OauthTokens;
}

/** Whose write it is. */
export interface Writer {
  scope: Scope;
  requestId: string;
}

export interface OpenedRepository {
  row: RepositoryRow;
  /** Null if neither the project nor the host names one. */
  defaultBranch: string | null;
  content: GitRepository;
  /**
   * Moves one ref, on the other host too. Returns false if it is not where it should be.
   * @throws `push-refused`, `ref-refused`, and problems of hosts and of git
   */
  move(by: Writer, change: RefChange): Promise<boolean>;
}

export interface Freshness {
  /** A time of `performance.now()`: a fetch that began before is not reused. */
  notBefore?: number;
}

export interface RepositoryUse {
  /** @throws `repository-missing`, `migration-in-progress`, and problems of hosts and of git */
  open(
    place: RepositoryPlace,
    row: RepositoryRow | undefined,
    freshness?: Freshness,
  ): Promise<OpenedRepository>;
  /** Reads the row, without a check of rights, and opens its repository. */
  withRepository<Result>(
    place: RepositoryPlace,
    use: (opened: OpenedRepository) => Promise<Result>,
    freshness?: Freshness,
  ): Promise<Result>;
  /** What to show to the host of a repository; undefined for none. */
  findCredential(place: RepositoryPlace, row: RepositoryRow): Promise<Credential | undefined>;
}

export function createRepositoryUse(services: RepositoryUseServices): RepositoryUse {
  const { database, sealer, git, hosted, mirrors, oauthTokens } = services;

  async function findCredential(place: RepositoryPlace, row: RepositoryRow): Promise<Credential | undefined> {
    if (row.enterprise_oauth_id !== null)
      return oauthTokens.getCredential(place.accountId, row.enterprise_oauth_id);
    if (row.sealed_credential === null) return undefined;
    return unsealCredential(sealer, place, row.sealed_credential);
  }

  async function openHosted(place: RepositoryPlace, row: RepositoryRow): Promise<OpenedRepository> {
    const content = await hosted.open(place, row.default_branch);
    const rules = { defaultBranch: row.default_branch, protectedBranches: row.protected_branches };
    return {
      row,
      defaultBranch: row.default_branch,
      content,
      move: (by, change) => hosted.move(content, { ...by, projectId: place.projectId, rules }, [change]),
    };
  }

  async function openMirror(
    place: RepositoryPlace,
    row: RepositoryRow,
    cloneUrl: string,
    { notBefore }: Freshness,
  ): Promise<OpenedRepository> {
    const mirrored = {
      ...place,
      url: cloneUrl,
      credential: await findCredential(place, row),
      credentialName: nameCredential(row),
      wantsDefaultBranch: row.default_branch === null,
    };
    const { folder, defaultBranch: branch } = await mirrors.refresh(mirrored, notBefore);
    if (row.default_branch === null && branch !== undefined)
      await noteDefaultBranch(database.read, place, { cloneUrl, branch });
    return {
      row,
      defaultBranch: row.default_branch ?? branch ?? null,
      content: openGitRepository(git, { folder, accountId: place.accountId }),
      async move(by, change) {
        const pushed = await hosted.writeElsewhere(
          { ...by, projectId: place.projectId, cloneUrl },
          (signal) => mirrors.push(mirrored, change, signal),
        );
        if (pushed.kind === 'refused') throw problem('push-refused', { words: pushed.words });
        return pushed.kind === 'done';
      },
    };
  }

  async function open(
    place: RepositoryPlace,
    row: RepositoryRow | undefined,
    freshness: Freshness = {},
  ): Promise<OpenedRepository> {
    if (row === undefined) throw problem('repository-missing');
    requireNoMigration(row);
    return row.clone_url === null ? openHosted(place, row) : openMirror(place, row, row.clone_url, freshness);
  }

  return {
    open,
    findCredential,
    async withRepository(place, use, freshness) {
      return use(await open(place, await findRepository(database.read, place), freshness));
    },
  };
}

/** Tokens of a connection change every hour; the stored bytes change only with the token. */
function nameCredential(row: RepositoryRow): string {
  if (row.enterprise_oauth_id !== null) return `connection-${row.enterprise_oauth_id}`;
  if (row.sealed_credential === null) return 'none';
  return `token-${createHash('sha256').update(row.sealed_credential).digest('hex').slice(0, 32)}`;
}
