/**
 * Renews the rotated tokens of projects before they expire.
 *
 * A renewal is a rotation, so it must not happen twice: one server at a time does it, notes it before, and
 * stores the new token only over the one that was rotated.
 */
import { addSeconds, type Clock } from '../../../kernel/clock.ts';
import type { Database, Transaction } from '../../../kernel/database/database.ts';
import { type AccountEvent, recordEvents } from '../../../kernel/database/events.ts';
import type { NewId } from '../../../kernel/identifiers.ts';
import type { Log } from '../../../kernel/log.ts';
import type { PeriodicJob } from '../../../kernel/retention/periodic-job.ts';
import { type Rest, runExclusively } from '../../../kernel/retention/retention.ts';
import { ProviderRefused, type RotatedToken } from '../../git-providers/index.ts';
import { createCredential, sealCredential, unsealCredential } from '../../git-remotes/index.ts';
import { writePatiently } from './patient-write.ts';
import { findProvider, getSecret, openInterface, type SignInServices } from './sign-in.ts';
import { computeTokenEnd } from './target-token.ts';
import {
  beginRenewal,
  type ExpiringToken,
  endRefusedRenewal,
  expiringToken,
  replaceToken,
} from './token-renewal.store.ts';

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
/** No other server rotates the token meanwhile: longer than the request and the storing may last. */
const renewalSeconds = 900;
const storingMilliseconds = 600_000;

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
      const [row] = await database.read(expiringToken, {
        before: addSeconds(now, aheadSeconds),
        now,
        ...after,
      });
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

async function renewToken(services: RenewalServices, row: ExpiringToken): Promise<boolean> {
  const { database, sealer, clock, stopping } = services;
  const place = { accountId: row.account_id, projectId: row.project_id };
  const provider = findProvider(row.provider);
  const stored = unsealCredential(sealer, place, row.sealed_credential);
  const repository = { cloneUrl: row.clone_url, parameters: row.provider_parameters };
  const token = { secret: getSecret(stored), origin: stored.origin };
  const call = openInterface(services, provider, repository, token, stopping);
  if (call === undefined || provider.rotateToken === undefined) return false;
  const now = clock.now();
  if (!(await beginRenewal(database.read, row, { until: addSeconds(now, renewalSeconds), now })))
    return false;
  let rotated: RotatedToken;
  try {
    rotated = await provider.rotateToken(call, computeTokenEnd(now));
  } catch (failure) {
    if (!(failure instanceof ProviderRefused)) throw failure;
    await recordRefusal(services, row, failure);
    return false;
  }
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(storingMilliseconds)]);
  return writePatiently(() => storeRenewed(services, row, rotated), signal);
}

function storeRenewed(
  services: RenewalServices,
  row: ExpiringToken,
  { token, expiresAt }: RotatedToken,
): Promise<boolean> {
  const { database, sealer, clock } = services;
  const place = { accountId: row.account_id, projectId: row.project_id };
  const sealed = sealCredential(sealer, place, createCredential(row.provider, { url: row.clone_url, token }));
  return database.transaction(async (tx) => {
    const made = { sealed, expiresAt: expiresAt ?? null, now: clock.now() };
    if (!(await replaceToken(tx, row, made))) return false;
    const after = { expiresAt: expiresAt?.toISOString() };
    recordRenewal(services, tx, row, { name: 'repository-token-renewed', after });
    return true;
  });
}

const passingCodes: readonly string[] = ['rate-limited', 'provider-failed'];

/** The repository shows the problem; the event is recorded once. */
async function recordRefusal(
  services: RenewalServices,
  row: ExpiringToken,
  { finding: { code, detail } }: ProviderRefused,
): Promise<void> {
  services.log.warn({ projectId: row.project_id, code }, failureMessage);
  const interruption = row.was_interrupted
    ? 'An earlier renewal was interrupted after GitLab was asked for a new token, which may be lost. '
    : '';
  const words = `${interruption}The token could not be renewed: ${detail} Create another token, and store it: POST /v1/projects/{projectId}/repositories/token.`;
  const problem = passingCodes.includes(code) ? null : words.slice(0, 2_000);
  await services.database.transaction(async (tx) => {
    if (!(await endRefusedRenewal(tx, row, { problem, now: services.clock.now() }))) return;
    recordRenewal(services, tx, row, { name: 'repository-token-not-renewed', after: { code, problem } });
  });
}

function recordRenewal(
  { clock, newId }: RenewalServices,
  tx: Transaction,
  { account_id: accountId, project_id: projectId, repository_name: name }: ExpiringToken,
  event: Pick<AccountEvent, 'name' | 'after'>,
): void {
  const source = { accountId, actorId: null, actorKind: 'system', requestId: null } as const;
  const subject = { type: 'repository', id: projectId, name };
  recordEvents(tx, source, [{ ...event, projectId, subject }], clock.now(), newId);
}
