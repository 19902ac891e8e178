/** The wiring: every dependency is created here, once, and passed as an argument. */
import { join } from 'node:path';
import type pg from 'pg';
import manifest from '../../package.json' with { type: 'json' };
import { createOpenidClient, type OpenidClient } from '../access/identity-issuers/index.ts';
import type { InviteByMail } from '../access/invitations/index.ts';
import { type ClientAuthentication, createClientAuthentication } from '../access/tokens/index.ts';
import { createPipelineReader, type PipelineReader } from '../delivery/artifacts/index.ts';
import { type Blobs, createBlobs, type ManifestUse, type ObjectStore } from '../delivery/blobs/index.ts';
import { createOauthTokens, type OauthTokens } from '../delivery/enterprise-oauths/index.ts';
import { createGit, type Git, type GitUser } from '../delivery/git/index.ts';
import { createMirrors, createRemotes, type Mirrors, type Remotes } from '../delivery/git-remotes/index.ts';
import { createHostedRepositories, type HostedRepositories } from '../delivery/hosted-repositories/index.ts';
import { createReviewer, type Reviewer } from '../delivery/quality-rules/index.ts';
import { createRepositoryUse, type RepositoryUse } from '../delivery/repositories/index.ts';
import { type Clock, systemClock } from '../kernel/clock.ts';
import { announceEvents } from '../kernel/database/event-news.ts';
import { openWakes, type Wakes } from '../kernel/database/wakes.ts';
import type { Services } from '../kernel/endpoint/endpoint.ts';
import { createFailureLog, type FailureLog } from '../kernel/failure-log.ts';
import { createUuidMaker } from '../kernel/identifiers.ts';
import type { Log } from '../kernel/log.ts';
import { createMetrics, type UncaughtCounts } from '../kernel/metrics.ts';
import {
  type CertificateAuthority,
  createCertificateAuthority,
} from '../kernel/security/certificate-authority.ts';
import {
  createEgressGuard,
  type EgressGuard,
  parseEgressAllow,
  type Resolve,
} from '../kernel/security/egress.ts';
import { createPersonalTokens } from '../kernel/security/personal-tokens.ts';
import { createRateLimit, noRateLimit, type RateLimit } from '../kernel/security/rate-limit.ts';
import { createSealer, loadMasterKey } from '../kernel/security/sealed.ts';
import { createSessions } from '../kernel/security/sessions.ts';
import { openSigningKeys, type SigningKeys } from '../kernel/security/signing-keys.ts';
import { createTokens } from '../kernel/security/tokens.ts';
import { createLeases, type Leases } from '../kernel/work/lease.ts';
import type { WorkOwners, WorkTimes } from '../kernel/work/work.ts';
import { type AiTasks, createAiTasks } from '../runtime/ai-tasks/index.ts';
import { createPlatform, createPlatformTools, type Platform, type Tool } from '../runtime/ai-tools/index.ts';
import { writeInvitationMail } from '../runtime/alerts/index.ts';
import { collectManifestUses, collectWorkOwners, requireUniqueNames } from './assembly.ts';
import type { Config } from './config.ts';
import { getMasterKeyFile, openDatabaseFor } from './database.ts';
import { openObjects } from './objects.ts';
import { slices } from './slices.list.ts';

export interface Dependencies extends Services {
  config: Config;
  failures: FailureLog;
  signingKeys: SigningKeys;
  authority: CertificateAuthority;
  claimWaitSeconds: number;
  secretWaitSeconds: number;
  wakes: Wakes;
  /** Of the work that this server holds. */
  leases: Leases;
  /** For addresses that tenants set. */
  egress: EgressGuard;
  /** For identity issuers. */
  openid: OpenidClient;
  inviteByMail: InviteByMail;
  /** For client ids and secrets. */
  clients: ClientAuthentication;
  git: Git;
  hosted: HostedRepositories;
  /** Of hosted repositories. Absolute. */
  repositoriesFolder: string;
  /** The way to other Git hosts. */
  remotes: Remotes;
  mirrors: Mirrors;
  oauthTokens: OauthTokens;
  /** The repositories of projects, hosted here or on other hosts. */
  repositories: RepositoryUse;
  ai: AiTasks;
  /** By which the tools of AI tasks call the API. */
  platform: Platform;
  owners: WorkOwners;
  times: WorkTimes;
  objects: ObjectStore;
  blobs: Blobs;
  manifestUses: readonly ManifestUse[];
  readPipeline: PipelineReader;
  review: Reviewer;
  version: string;
  stopping: AbortSignal;
  close(): Promise<void>;
}

export interface ProcessServices {
  connection: pg.ClientConfig;
  log: Log;
  /** The counters of the process; tests leave them out. */
  reporting?: { failures: FailureLog; lostLines: () => number; uncaught: Readonly<UncaughtCounts> };
  stopping: AbortSignal;
  clock?: Clock;
  /** Resolves the names of hosts that tenants set; by default the system does. */
  resolve?: Resolve;
  /** More certificate authorities of identity issuers, for tests. */
  issuerCa?: string | undefined;
  /** The folder of git's own files, and its user; by default below the data, as the user of the server. */
  gitPlaces?: { directory: string; user?: GitUser };
  /** The tools of AI tasks, for tests. */
  aiTools?: readonly Tool[];
}

function createRateLimitOf({ rateLimit, callerPercent, refusedLimit }: Config, clock: Clock): RateLimit {
  if (rateLimit === undefined) return noRateLimit;
  const ofCaller = Math.ceil((rateLimit * callerPercent) / 100);
  return createRateLimit({ ofAccount: rateLimit, ofCaller, refusedOfAddress: refusedLimit }, clock);
}

export async function createDependencies(config: Config, input: ProcessServices): Promise<Dependencies> {
  requireUniqueNames(slices);
  const { log } = input;
  const objects = await openObjects(config);
  const clock = input.clock ?? systemClock;
  const { failures, lostLines, uncaught } = input.reporting ?? {
    failures: createFailureLog(log, clock),
    lostLines: () => 0,
    uncaught: { rejection: 0, exception: 0 },
  };
  const database = openDatabaseFor(config, input.connection, failures);
  const sealer = createSealer(loadMasterKey(config.masterKey, getMasterKeyFile(config)));
  const metrics = createMetrics();
  metrics.watchLostLogLines(lostLines);
  metrics.watchUncaught(uncaught);
  const wakes = await openWakes(database, log);
  metrics.watchWaitingClaims(() => wakes.countWaiting());
  const eventNews = announceEvents(database, wakes);
  const newId = createUuidMaker(clock);
  const blobs = createBlobs({ database, objects, clock, newId, log });
  const egress = createEgressGuard(parseEgressAllow(config.egressAllow), input.resolve);
  const remotes = createRemotes({ guard: egress, log, trustedAddresses: Object.values(config.gitAddresses) });
  const { directory, user } = input.gitPlaces ?? { directory: join(config.dataDirectory, 'git') };
  const git = createGit({
    folder: directory,
    user,
    searchPath: config.git.searchPath,
    mostBytes: config.git.mostBytes,
    processes: { ofServer: config.git.processes, ofAccount: Math.ceil(config.git.processes / 4) },
    log,
    stopping: input.stopping,
  });
  const repositoriesFolder = config.git.repositoriesFolder ?? join(directory, 'repositories');
  const { stopping } = input;
  const ofHosted = { database, git, clock, newId, log, stopping, repositoriesFolder, config };
  const hosted = createHostedRepositories(ofHosted);
  // Not in the folder that all servers share: a mirror belongs to one server.
  const mirrorFolder = join(directory, 'mirrors');
  const { mostBytes } = config.git;
  const mirrors = createMirrors({ git, remotes, folder: mirrorFolder, clock, mostBytes });
  const oauthTokens = createOauthTokens({ database, sealer, clock, remotes, config });
  const { region, publicUrl, signingKeyDays: rotationDays } = config;
  const signingKeys = await openSigningKeys({ database, sealer, clock, log, rotationDays });
  const personalTokens = createPersonalTokens({ database, sealer, clock });
  const tokens = createTokens({ keys: signingKeys, clock, region, publicUrl, personalTokens });
  const sessions = createSessions({ database, sealer, clock, publicUrl, limits: config.session });
  const repositories = createRepositoryUse({ database, sealer, git, hosted, mirrors, oauthTokens });
  const readPipeline = createPipelineReader();
  const review = createReviewer();
  const platform = createPlatform(tokens);
  const ofTools = { config, database, clock, blobs, repositories, readPipeline, platform };
  return {
    config,
    database,
    clock,
    newId,
    sealer,
    signingKeys,
    authority: createCertificateAuthority({ database, sealer, clock, newId }),
    claimWaitSeconds: config.claimWaitSeconds,
    secretWaitSeconds: config.secretWaitSeconds,
    tokens,
    sessions,
    platform,
    rateLimit: createRateLimitOf(config, clock),
    metrics,
    log,
    failures,
    wakes,
    leases: createLeases({ database, clock }),
    openid: createOpenidClient({ egress, clock, sealer, config, ca: input.issuerCa }),
    inviteByMail: (tx, invitation, now) => writeInvitationMail(tx, invitation, { newId, config }, now),
    clients: createClientAuthentication({ sealer, database, clock, newId, log }),
    git,
    hosted,
    repositoriesFolder,
    egress,
    remotes,
    mirrors,
    oauthTokens,
    repositories,
    ai: createAiTasks(config.ai, input.aiTools ?? createPlatformTools(ofTools)),
    owners: collectWorkOwners(slices, { metrics, wakes, times: config.work }),
    times: config.work,
    objects,
    blobs,
    manifestUses: collectManifestUses(slices),
    readPipeline,
    review,
    version: manifest.version,
    stopping: input.stopping,
    async close() {
      eventNews.close();
      await remotes.close();
      await wakes.close();
      await blobs.waitForRemovals();
      objects.close();
      await database.close();
    },
  };
}
