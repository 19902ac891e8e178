/**
 * Renews the rotated tokens of projects before they expire (decisions.md E28).
 *
 * A renewal is a rotation, so it must not happen twice: one server at a time does it, and the new token is
 * stored only over the one that was rotated.
 */
import type { RepositoryProvider } from '@headgate/contract';
import { addSeconds, type Clock } from '../../kernel/clock.ts';
import { type Database, statement, typed } from '../../kernel/database/database.ts';
import { recordEvents } from '../../kernel/database/events.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import type { Log } from '../../kernel/log.ts';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { type Rest, runExclusively } from '../../kernel/retention/retention.ts';
import { ProviderRefused } from '../git-providers/index.ts';
import { createCredential, sealCredential, unsealCredential } from '../git-remotes/index.ts';
import { findProvider, getSecret, openInterface, type SignInServices } from './sign-in.ts';
import { computeTokenEnd } from './target-token.ts';

export interface RenewalServices extends SignInServices {
  database: Database;
  clock: Clock;
  newId: NewId;
  log: Log;
  stopping: AbortSignal;
}

const everyMilliseconds = 3_600_000;
/** A token is renewed this long before its end, and again each hour until that succeeds. */
const aheadSeconds = 14 * 86_400;

const due = statement(
  {
    parameters: {
      before: 'timestamptz',
      now: 'timestamptz',
      after_end: 'timestamptz',
      after_account: 'uuid',
      after_project: 'uuid',
    },
    row: {
      account_id: 'uuid',
      project_id: 'uuid',
      credential_expires_at: 'timestamptz',
      provider: typed<RepositoryProvider>('text'),
      repository_name: 'text',
      clone_url: 'text',
      provider_parameters: typed<Record<string, string>>('jsonb'),
      sealed_credential: 'bytea',
    },
    alone: true,
  },
  `
  select r.account_id, r.project_id, r.credential_expires_at, r.provider, r.repository_name, r.clone_url, r.provider_parameters, r.sealed_credential
  from repository r
  where r.credential_expires_at < $before and r.credential_expires_at > $now and r.provider = 'gitlab'
    and r.sealed_credential is not null
    and (r.credential_expires_at, r.account_id, r.project_id) > ($after_end, $after_account, $after_project)
    and not exists (
      select from repository_migration m
      where m.account_id = r.account_id and m.project_id = r.project_id and m.status = 'IN_PROGRESS')
  order by r.credential_expires_at, r.account_id, r.project_id limit 1`,
);

const replace = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      known: 'bytea',
      sealed_credential: 'bytea',
      credential_expires_at: 'timestamptz?',
      now: 'timestamptz',
    },
    row: { replaced: 'boolean' },
  },
  `
  update repository set sealed_credential = $sealed_credential, credential_expires_at = $credential_expires_at,
    version = version + 1, updated_at = $now
  where account_id = $account_id and project_id = $project_id and sealed_credential = $known
  returning true as replaced`,
);

export function createRenewalJob(services: RenewalServices): PeriodicJob {
  return {
    name: 'git token renewal',
    everyMilliseconds,
    firstAfterMilliseconds: 60_000,
    async run(rest) {
      await renewTokens(services, rest);
      return false;
    },
  };
}

const noProject = '00000000-0000-0000-0000-000000000000';

/** Returns how many tokens were renewed. */
export async function renewTokens(services: RenewalServices, rest: Rest): Promise<number> {
  const { database, clock, log, stopping } = services;
  const renewed = await runExclusively(database, 'git token renewal', rest, async (between) => {
    let after = { after_end: new Date(0), after_account: noProject, after_project: noProject };
    let count = 0;
    for (;;) {
      // Throws if the lock is lost: then another server may be at the same token.
      await between(0);
      const now = clock.now();
      // One at a time: a migration may have begun, or a user stored another token, during the last renewal.
      const [row] = await database.read(due, { before: addSeconds(now, aheadSeconds), now, ...after });
      if (row === undefined || stopping.aborted) return count;
      after = {
        after_end: row.credential_expires_at,
        after_account: row.account_id,
        after_project: row.project_id,
      };
      try {
        if (await renewToken(services, row)) count += 1;
      } catch (failure) {
        log.warn({ err: failure, projectId: row.project_id }, failureMessage);
      }
    }
  });
  return renewed ?? 0;
}

const failureMessage = 'the token of a repository could not be renewed; it will be tried again';

async function renewToken(
  services: RenewalServices,
  row: {
    account_id: string;
    project_id: string;
    provider: RepositoryProvider;
    repository_name: string;
    clone_url: string;
    provider_parameters: Record<string, string>;
    sealed_credential: Buffer;
  },
): Promise<boolean> {
  const { database, sealer, clock, newId, log, stopping } = services;
  const place = { accountId: row.account_id, projectId: row.project_id };
  const provider = findProvider(row.provider);
  const stored = unsealCredential(sealer, place, row.sealed_credential);
  const repository = { cloneUrl: row.clone_url, parameters: row.provider_parameters };
  const token = { secret: getSecret(stored), origin: stored.origin };
  const call = openInterface(services, provider, repository, token, stopping);
  if (call === undefined || provider.rotateToken === undefined) return false;
  const now = clock.now();
  try {
    const rotated = await provider.rotateToken(call, computeTokenEnd(now));
    const made = createCredential(row.provider, { url: row.clone_url, token: rotated.token });
    return await database.transaction(async (tx) => {
      const replaced = await tx.query(replace, {
        account_id: row.account_id,
        project_id: row.project_id,
        known: row.sealed_credential,
        sealed_credential: sealCredential(sealer, place, made),
        credential_expires_at: rotated.expiresAt ?? null,
        now,
      });
      if (replaced.length === 0) return false;
      const source = {
        accountId: row.account_id,
        actorId: null,
        actorKind: 'system',
        requestId: null,
      } as const;
      const subject = { type: 'repository', id: row.project_id, name: row.repository_name };
      const after = { expiresAt: rotated.expiresAt?.toISOString() };
      const event = { name: 'repository-token-renewed', projectId: row.project_id, subject, after } as const;
      recordEvents(tx, source, [event], now, newId);
      return true;
    });
  } catch (failure) {
    if (!(failure instanceof ProviderRefused)) throw failure;
    const about = { projectId: row.project_id, code: failure.finding.code };
    log.warn(about, failureMessage);
    return false;
  }
}
