/** The link that the server prints for its operator. */
import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database/database.ts';
import { isLoopbackHost } from '../../kernel/security/loopback-host.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import { isSignInAddress } from './sign-in-address.ts';
import { linkPath } from './sign-in-link.routes.ts';
import { replaceLink } from './sign-in-link.store.ts';

export const operatorLinkMinutes = 5;

/**
 * Signs in as the administrator of the account, once, within five minutes. Without HTTPS only in a browser of this
 * machine. Replaces the earlier one.
 */
export async function createOperatorLink(
  { database, sealer, clock }: { database: Database; sealer: Sealer; clock: Clock },
  accountId: string,
  { publicUrl, port }: { publicUrl: string; port: number },
): Promise<string> {
  const url = new URL(publicUrl);
  const isPublic = isSignInAddress(url) && !isLoopbackHost(url.hostname);
  // Passkeys and browsers prefer the name to the address.
  const base = isPublic ? publicUrl : `http://localhost:${url.port === '' ? port : url.port}`;
  const now = clock.now();
  const expiresAt = new Date(now.getTime() + operatorLinkMinutes * 60_000);
  const secret = await database.transaction((tx) =>
    replaceLink(tx, sealer, { accountId, userId: null, ofLoopback: !isPublic, createdAt: now, expiresAt }),
  );
  return `${base}${linkPath}/${secret.reveal()}`;
}
