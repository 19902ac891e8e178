/**
 * The single-use token of a GitLab target.
 *
 * GitLab revokes the whole family of a token that is rotated twice. So the order is fixed:
 *   1. the start of the migration notes the fingerprint of the token, and refuses one that is noted already
 *   2. the work notes that it rotates the token, and only then calls GitLab
 *   3. the new token is stored, sealed, before it is used
 *      If the database cannot be used, that is tried until the lease ends.
 * A server that dies between 2 and 3 leaves a token that is lost. The next one does not try again.
 */
import { addSeconds, type Clock } from '../../../kernel/clock.ts';
import type { Database } from '../../../kernel/database/database.ts';
import { type Sealer, Secret } from '../../../kernel/security/sealed.ts';
import type { GitProvider, ProviderCall } from '../../git-providers/index.ts';
import { MigrationFailed, toMigrationFailed } from '../git/migration-failure.ts';
import { type MigrationJob, noteRotation, storeRotatedToken } from '../store/migration-work.store.ts';
import { writePatiently } from './patient-write.ts';

const fingerprintPurpose = 'git token fingerprint';
const tokenPurpose = (accountId: string, migrationId: string) =>
  `migration token ${accountId} ${migrationId}`;
/** GitLab permits a year at most. The token is renewed before. */
const tokenSeconds = 90 * 86_400;

export function fingerprintToken(sealer: Sealer, token: Secret): Buffer {
  return sealer.digest(token.reveal(), fingerprintPurpose);
}

export function sealToken(
  sealer: Sealer,
  place: { accountId: string; migrationId: string },
  token: Secret,
): Buffer {
  return sealer.seal(token, tokenPurpose(place.accountId, place.migrationId));
}

export function computeTokenEnd(now: Date): Date {
  return addSeconds(now, tokenSeconds);
}

export interface TargetToken {
  token: Secret;
  expiresAt: Date | null;
}

/**
 * The token for the target, rotated if it was not yet.
 *
 * @param openCall the interface of the provider for a token
 * @param signal ends the wait for the database: the lease is lost, or the server stops
 * @throws MigrationFailed, LeaseLost
 */
export async function takeTargetToken(
  services: { database: Database; sealer: Sealer; clock: Clock },
  job: MigrationJob,
  provider: GitProvider,
  openCall: (token: Secret) => ProviderCall | undefined,
  signal: AbortSignal,
): Promise<TargetToken> {
  const { database, sealer, clock } = services;
  const place = { accountId: job.account_id, migrationId: job.migration_id };
  if (job.sealed_token === null) throw lostToken();
  const token = sealer.unseal(job.sealed_token, tokenPurpose(place.accountId, place.migrationId));
  if (job.token_rotation === 'stored') return { token: token, expiresAt: job.token_expires_at };
  if (job.token_rotation !== null) throw lostToken();
  const call = openCall(token);
  if (call === undefined || provider.rotateToken === undefined) return { token: token, expiresAt: null };
  await noteRotation(database, job);
  const rotated = await provider.rotateToken(call, computeTokenEnd(clock.now())).catch((failure: unknown) => {
    throw toMigrationFailed({ side: 'target', provider }, failure);
  });
  const expiresAt = rotated.expiresAt ?? null;
  const sealed = sealToken(sealer, place, rotated.token);
  await writePatiently(() => storeRotatedToken(database, job, sealed, expiresAt), signal);
  return { token: new Secret(rotated.token.reveal()), expiresAt };
}

function lostToken(): MigrationFailed {
  return new MigrationFailed(
    'token-lost',
    'A server stopped between the rotation of the token and the storing of the new one. The token was probably rotated, and the new one is lost. Create a new token, and start again with it.',
  );
}
