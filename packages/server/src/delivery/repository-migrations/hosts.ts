/** The two repositories of a migration, opened: how each is listed, read and pushed to. */

import { join } from 'node:path';
import type { MigrationProvider } from '@headgate/contract';
import type { Secret } from '../../kernel/security/sealed.ts';
import type { Git, Scratch } from '../git/index.ts';
import type { ProviderCall } from '../git-providers/index.ts';
import { type Credential, createCredential, unsealCredential } from '../git-remotes/index.ts';
import { fetchRefs, listOwnRefs, listRemoteRefs, type Place, type Reached } from './git/git-calls.ts';
import { explainGitFailure } from './git/migration-failure.ts';
import type { RemoteRefs } from './git/remote-refs.ts';
import type { SourceRow } from './store/moved-repository.store.ts';
import {
  findProvider,
  fitsOrigin,
  getSecret,
  openInterface,
  type SignInServices,
  signInByApplication,
} from './tokens/sign-in.ts';

/** Repositories that are hosted here. */
export interface HostedAccess {
  open(at: Project & { signal?: AbortSignal }, defaultBranch: string | null): Promise<{ folder: string }>;
  /** Resolves when no write that began before the migration is under way. */
  waitForWrites(at: Project, signal: AbortSignal): Promise<void>;
}

export interface HostServices extends SignInServices {
  git: Git;
  hosted: HostedAccess;
}

export interface Limits {
  mostRefs: number;
  mostObjects: number;
  /** The wait for writes that began before the migration. */
  writesMilliseconds: number;
  /** Of a fetch or a push, and of an LFS object. */
  mostBytes: number;
  mostLfsObjects: number;
  /** Of all LFS objects together. */
  mostLfsBytes: number;
  idleMilliseconds: number;
  totalMilliseconds: number;
}

export interface OpenedSource {
  /** Undefined if it is hosted here. */
  reached: Reached | undefined;
  cloneUrl: string | undefined;
  credential: Credential | undefined;
  /** The folder, if it is hosted here. */
  folder: string | undefined;
  list: (place: Place) => Promise<RemoteRefs>;
  /** Fetches the branches below refs/headgate/source/. */
  readInto: (place: Place) => Promise<void>;
}

export interface OpenedTarget {
  reached: Reached;
  cloneUrl: string;
  credential: Credential | undefined;
  /** The project keeps the connection of an application, and so no credential. */
  enterpriseOauthId: string | undefined;
  provider: ProviderCall | undefined;
}

export interface Opened {
  source: OpenedSource;
  target: OpenedTarget;
}

export interface Project {
  accountId: string;
  projectId: string;
}

/** What is wanted of a target. */
export interface TargetPlan {
  provider: MigrationProvider;
  cloneUrl: string;
  parameters: Readonly<Record<string, string>>;
  enterpriseOauthId: string | undefined;
  /** Of a gitlab target; tokens for others are ignored. */
  token: Secret | undefined;
}

/** For the branches of a repository that is hosted here. */
const localMilliseconds = 30 * 60_000;

export async function openSource(
  services: HostServices,
  project: Project,
  row: SourceRow,
  limits: Limits,
  onBytes: (bytes: number) => void,
): Promise<OpenedSource> {
  const provider = findProvider(row.provider);
  if (row.clone_url === null) {
    const { folder } = await services.hosted.open(project, row.default_branch);
    const { git } = services;
    return {
      reached: undefined,
      cloneUrl: undefined,
      credential: undefined,
      folder,
      list: (place) => listOwnRefs({ ...place, folder }, limits.mostRefs),
      async readInto(place) {
        const args = [
          '--quiet',
          '--no-tags',
          '--end-of-options',
          folder,
          '+refs/heads/*:refs/headgate/source/*',
        ];
        const { accountId, signal, isBackground } = place;
        const call = {
          folder: place.folder,
          accountId,
          signal,
          isBackground,
          local: true,
          timeoutMilliseconds: localMilliseconds,
        };
        const { code, stderr } = await git.run(['fetch', ...args], call);
        if (code !== 0) throw explainGitFailure({ side: 'source', provider }, undefined, { stderr });
      },
    };
  }
  const cloneUrl = row.clone_url;
  const credential = await findStoredCredential(services, project, row);
  const { mostBytes: mostBytesReceived, idleMilliseconds, totalMilliseconds } = limits;
  const bounds = { mostBytesReceived, idleMilliseconds, totalMilliseconds };
  const remote = { url: cloneUrl, credential, direction: 'read', limits: bounds, onBytes } as const;
  const reached: Reached = { side: 'source', provider, open: () => services.remotes.openRemote(remote) };
  return {
    reached,
    cloneUrl,
    credential,
    folder: undefined,
    list: (place) => listRemoteRefs(place, reached, limits.mostRefs),
    readInto: (place) => fetchRefs(place, reached, ['+refs/heads/*:refs/headgate/source/*'], []),
  };
}

/** What the project shows to its repository today. */
async function findStoredCredential(
  services: HostServices,
  project: Project,
  row: SourceRow,
): Promise<Credential | undefined> {
  if (row.clone_url === null) return undefined;
  if (row.enterprise_oauth_id !== null)
    return signInByApplication(services, 'source', project.accountId, row.enterprise_oauth_id);
  if (row.sealed_credential === null) return undefined;
  return unsealCredential(services.sealer, project, row.sealed_credential);
}

export async function openTarget(
  services: HostServices,
  project: Project,
  plan: TargetPlan,
  source: SourceRow,
  options: { limits: Limits; signal: AbortSignal; onBytes: (bytes: number) => void },
): Promise<OpenedTarget> {
  const { cloneUrl, parameters } = plan;
  const signedIn = await signInToTarget(services, project, plan, source);
  const { credential } = signedIn;
  const { mostBytes: mostBytesSent, idleMilliseconds, totalMilliseconds } = options.limits;
  const bounds = { mostBytesSent, idleMilliseconds, totalMilliseconds };
  const { onBytes } = options;
  const remote = { url: cloneUrl, credential, direction: 'write', limits: bounds, onBytes } as const;
  const provider = findProvider(plan.provider);
  const token = credential && { secret: getSecret(credential), origin: credential.origin };
  return {
    reached: { side: 'target', provider, open: () => services.remotes.openRemote(remote) },
    cloneUrl,
    ...signedIn,
    provider: openInterface(services, provider, { cloneUrl, parameters }, token, options.signal),
  };
}

/**
 * A gitlab target has its own token, others the application that the request names. Else what the project
 * has today serves, if it was made for the same origin.
 */
async function signInToTarget(
  services: HostServices,
  project: Project,
  { provider, cloneUrl, enterpriseOauthId, token }: TargetPlan,
  source: SourceRow,
): Promise<Pick<OpenedTarget, 'credential' | 'enterpriseOauthId'>> {
  if (provider === 'gitlab' && token !== undefined)
    return { credential: createCredential('gitlab', { url: cloneUrl, token }), enterpriseOauthId: undefined };
  if (enterpriseOauthId !== undefined) {
    const { accountId } = project;
    return {
      credential: await signInByApplication(services, 'target', accountId, enterpriseOauthId),
      enterpriseOauthId,
    };
  }
  if (source.enterprise_oauth_id !== null) return { credential: undefined, enterpriseOauthId: undefined };
  const stored = await findStoredCredential(services, project, source);
  return { credential: fitsOrigin(stored, cloneUrl) ? stored : undefined, enterpriseOauthId: undefined };
}

/** Makes an empty bare repository in a scratch folder. */
export async function makePlace(
  git: Git,
  scratch: Scratch,
  name: string,
  of: Pick<Place, 'accountId' | 'signal' | 'isBackground'>,
): Promise<Place> {
  const folder = join(scratch.folder, `${name}.git`);
  await git.makeRepository(folder);
  return { git, folder, ...of };
}
