/**
 * The work of one migration, while this server holds it.
 *
 * Each step can be repeated: another server begins again with what the row says. The project points at its
 * old repository until the last transaction, which also ends the migration.
 */
import { join } from 'node:path';
import type { MigrationPhase, MigrationReport } from '@headgate/contract';
import { migrationDetailLimit, reportListLimit } from '@headgate/contract';
import type { Clock } from '../../kernel/clock.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import type { Log } from '../../kernel/log.ts';
import { LeaseLost } from '../../kernel/work/server-work.ts';
import type { Scratch } from '../git/index.ts';
import { findOrigin, sealCredential } from '../git-remotes/index.ts';
import {
  isPassing,
  MigrationFailed,
  type MigrationFailureCode,
  type PushOutcome,
  toFailure,
} from './git/migration-failure.ts';
import { checkBefore, type Preflight } from './git/preflight.ts';
import { describePush, presentPush } from './git/push-outcome.ts';
import { compareDefaultBranches, countRefs } from './git/ref-rules.ts';
import { showRef } from './git/remote-refs.ts';
import {
  type HostServices,
  type Limits,
  makePlace,
  type Opened,
  openSource,
  openTarget,
  type Project,
} from './hosts.ts';
import { type EndOfMigration, endMigration, type MovedProject } from './migration-end.ts';
import { type Moved, moveRepository } from './move.ts';
import { hasPushedBefore, type MigrationJob, writeProgress } from './store/migration-work.store.ts';
import { readSource, type SourceRow } from './store/moved-repository.store.ts';
import { findProvider, openInterface } from './tokens/sign-in.ts';
import { takeTargetToken } from './tokens/target-token.ts';

export interface MigrationServices extends HostServices {
  clock: Clock;
  newId: NewId;
  log: Log;
  limits: Limits;
  retryMilliseconds: readonly number[];
}

/** The state of one migration on this server. */
export class MigrationWork {
  readonly job: MigrationJob;
  readonly #services: MigrationServices;
  readonly #signal: AbortSignal;
  readonly #project: Project;
  readonly #wasPushing: boolean;
  #phase: MigrationPhase;
  #percent = 0;
  #bytes: number;
  #preflight: Preflight | undefined;

  constructor(services: MigrationServices, job: MigrationJob, signal: AbortSignal) {
    this.#services = services;
    this.job = job;
    this.#signal = signal;
    this.#project = { accountId: job.account_id, projectId: job.project_id };
    this.#phase = job.phase;
    this.#bytes = job.bytes;
    this.#wasPushing = ['PUSHING', 'VERIFYING', 'SWITCHING'].includes(job.phase);
  }

  /** @throws LeaseLost */
  showProgress(): Promise<void> {
    const progress = { phase: this.#phase, percent: this.#percent, bytes: this.#bytes };
    return writeProgress(this.#services.database, this.job, progress);
  }

  /** Ends the migration, unless the lease is lost or the server stops. */
  async run(): Promise<void> {
    let end: EndOfMigration;
    try {
      end = await this.#move();
    } catch (failure) {
      // Another attempt may succeed where the database or the turns of git are the reason.
      if (failure instanceof LeaseLost || this.#signal.aborted || isPassing(failure)) throw failure;
      end = this.#describeFailure(failure);
    }
    try {
      await endMigration(this.#services, this.job, end);
    } catch (failure) {
      if (!(failure instanceof MigrationFailed)) throw failure;
      await endMigration(this.#services, this.job, this.#describeFailure(failure));
    }
  }

  async #move(): Promise<EndOfMigration> {
    const { git, database } = this.#services;
    const source = await readSource(database.read, this.job);
    if (source === undefined)
      throw new MigrationFailed('repository-changed', 'The project has no repository any more.');
    await this.#enter('PREFLIGHT', 2);
    const scratch = await git.makeScratch();
    try {
      return await this.#moveFrom(source, scratch);
    } finally {
      await scratch.remove();
    }
  }

  async #moveFrom(source: SourceRow, scratch: Scratch): Promise<EndOfMigration> {
    const { job } = this;
    const { git, limits, remotes, retryMilliseconds } = this.#services;
    const opened = await this.#open(source);
    await this.#waitForWrites();
    const at = { accountId: this.#project.accountId, signal: this.#signal, isBackground: true };
    const checking = await makePlace(git, scratch, 'preflight', at);
    const plan = {
      mode: job.mode,
      overwrite: job.overwrite,
      isResumed: this.#wasPushing,
      isContinued: await hasPushedBefore(this.#services.database.read, job),
      mostRefs: limits.mostRefs,
    };
    const preflight = await checkBefore(plan, {
      place: checking,
      listSource: () => opened.source.list(checking),
      readSource: () => opened.source.readInto(checking),
      target: opened.target.reached,
      provider: opened.target.provider,
    });
    this.#preflight = preflight;
    const error = preflight.findings.find(({ level }) => level === 'error');
    if (error !== undefined)
      throw new MigrationFailed(error.code as MigrationFailureCode, this.#joinErrors(preflight));
    const moved =
      job.mode === 'RECONFIGURE'
        ? undefined
        : await moveRepository({
            ...opened,
            remotes,
            scratch,
            limits,
            retryMilliseconds,
            place: { git, folder: join(scratch.folder, 'source.git'), ...at },
            pushing: { force: job.overwrite, leases: preflight.replaceable },
            enter: (phase, percent) => this.#enter(phase, percent),
            show: (percent) => {
              this.#percent = Math.max(this.#percent, percent);
            },
            addBytes: this.#addBytes,
          });
    await this.#enter('SWITCHING', 99);
    return this.#describeSuccess(source, opened, moved);
  }

  /** A write that no server can end must not hold the migration for ever. */
  async #waitForWrites(): Promise<void> {
    const { hosted, limits } = this.#services;
    const late = AbortSignal.timeout(limits.writesMilliseconds);
    try {
      await hosted.waitForWrites(this.#project, AbortSignal.any([this.#signal, late]));
    } catch (failure) {
      if (!late.aborted || this.#signal.aborted) throw failure;
      throw new MigrationFailed(
        'push-unfinished',
        'A push that began before the migration has not ended, because its repository cannot be read. Ask the operator for the log of the job "unfinished pushes", then start again.',
      );
    }
  }

  readonly #addBytes = (bytes: number): void => {
    this.#bytes += bytes;
  };

  async #open(source: SourceRow): Promise<Opened & { expiresAt: Date | null }> {
    const { job } = this;
    const services = this.#services;
    const provider = findProvider(job.target_provider);
    const repository = { cloneUrl: job.target_clone_url, parameters: job.provider_parameters };
    const taken =
      job.sealed_token === null && job.token_rotation === null
        ? undefined
        : await takeTargetToken(
            services,
            job,
            provider,
            (secret) => {
              const token = { secret, origin: findOrigin(repository.cloneUrl) };
              return openInterface(services, provider, repository, token, this.#signal);
            },
            this.#signal,
          );
    const plan = {
      provider: job.target_provider,
      ...repository,
      enterpriseOauthId: job.enterprise_oauth_id ?? undefined,
      token: taken?.token,
    };
    const { limits } = services;
    const options = { limits, signal: this.#signal, onBytes: this.#addBytes };
    return {
      source: await openSource(services, this.#project, source, limits, this.#addBytes),
      target: await openTarget(services, this.#project, plan, source, options),
      expiresAt: taken?.expiresAt ?? null,
    };
  }

  async #enter(phase: MigrationPhase, percent: number): Promise<void> {
    this.#phase = phase;
    this.#percent = Math.max(this.#percent, percent);
    this.#signal.throwIfAborted();
    await this.showProgress();
  }

  #joinErrors({ findings }: Preflight): string {
    return findings
      .filter(({ level }) => level === 'error')
      .map(({ message }) => message)
      .join(' ')
      .slice(0, migrationDetailLimit);
  }

  #describeSuccess(
    source: SourceRow,
    { target, expiresAt }: Opened & { expiresAt: Date | null },
    moved: Moved | undefined,
  ): EndOfMigration {
    const { job } = this;
    const refs: Preflight['refs'] = this.#preflight?.refs ?? {};
    const defaultBranch = moved?.refs.defaultBranch ?? refs.source?.defaultBranch;
    if (refs.target !== undefined && this.#preflight !== undefined) {
      const more = compareDefaultBranches(job.mode, defaultBranch, refs.target);
      this.#preflight = { ...this.#preflight, findings: [...this.#preflight.findings, ...more] };
    }
    const warnings = (this.#preflight?.findings ?? []).filter(({ level }) => level === 'warning');
    const detail = warnings
      .map(({ message }) => message)
      .join(' ')
      .slice(0, migrationDetailLimit);
    const { credential, enterpriseOauthId } = target;
    // The token of an application is short-lived: the connection gives another one.
    const lasting = enterpriseOauthId === undefined ? credential : undefined;
    const project: MovedProject = {
      known_version: source.version,
      provider: job.target_provider,
      repository_name: job.target_name,
      clone_url: job.target_clone_url,
      provider_parameters: job.provider_parameters,
      default_branch: source.default_branch ?? (defaultBranch === undefined ? null : showRef(defaultBranch)),
      enterprise_oauth_id: enterpriseOauthId ?? null,
      sealed_credential:
        lasting === undefined ? null : sealCredential(this.#services.sealer, this.#project, lasting),
      credential_origin: lasting?.origin ?? null,
      credential_expires_at: expiresAt ?? (lasting === undefined ? null : source.credential_expires_at),
      source,
    };
    return {
      status: 'COMPLETED',
      phase: 'SWITCHING',
      percent: 100,
      bytes: this.#bytes,
      code: undefined,
      detail: detail === '' ? undefined : detail,
      report: this.#buildReport(moved),
      project,
    };
  }

  #describeFailure(failure: unknown): EndOfMigration {
    const known = toFailure(failure);
    const push = failure instanceof MigrationFailed ? failure.push : undefined;
    if (known.code === 'git-failed' && !(failure instanceof MigrationFailed))
      this.#services.log.error(
        { err: failure, migrationId: this.job.migration_id },
        'a repository migration failed',
      );
    return {
      status: 'FAILED',
      phase: this.#phase,
      percent: this.#percent,
      bytes: this.#bytes,
      code: known.code,
      detail: describePush(known.message, push).slice(0, migrationDetailLimit),
      report: this.#preflight === undefined ? undefined : this.#buildReport(undefined, push),
      project: undefined,
    };
  }

  #buildReport(moved: Moved | undefined, push?: PushOutcome): MigrationReport {
    const { findings = [], refs = {} } = this.#preflight ?? {};
    const source = moved?.refs ?? refs.source;
    const { branches, tags } = source === undefined ? { branches: 0, tags: 0 } : countRefs(source);
    const hidden = refs.source?.hidden ?? [];
    const began = this.job.started_at.getTime();
    return {
      branches,
      tags,
      verifiedRefs: moved?.refs.refs.size ?? 0,
      objects: moved?.objects ?? 0,
      bytes: this.#bytes,
      lfsObjects: moved?.lfsObjects ?? 0,
      lfsBytes: moved?.lfsBytes ?? 0,
      durationMilliseconds: Math.max(0, this.#services.clock.now().getTime() - began),
      ...(moved?.pushedAtomically === undefined ? {} : { pushedAtomically: moved.pushedAtomically }),
      ...(push === undefined ? {} : { push: presentPush(push) }),
      skippedTotal: hidden.length,
      skippedRefs: hidden.slice(0, reportListLimit).map((name) => ({
        name: showRef(name).slice(0, 1_024),
        reason: 'It is neither a branch nor a tag; hosts keep such refs for themselves.',
      })),
      findings: findings
        .slice(0, reportListLimit)
        .map(({ level, code, message }) => ({ level, code, message: message.slice(0, 2_000) })),
    };
  }
}
