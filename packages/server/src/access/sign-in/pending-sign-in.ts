/**
 * What the browser holds while its user is at the issuer, in a sealed cookie: nothing is stored before somebody has
 * signed in, and an answer of the issuer counts only in the browser that asked for it.
 */
import { type Sealer, Secret } from '../../kernel/security/sealed.ts';
import { readCookie } from '../../kernel/security/sessions.ts';
import type { PendingSignIn } from '../identity-issuers/index.ts';

const purpose = 'pending sign-in';
export const pendingSeconds = 900;
const mostCharacters = 4_096;

export interface Pending extends PendingSignIn {
  issuerId: string;
  returnPath: string;
  /** Milliseconds since 1970. */
  until: number;
}

export const namePendingCookie = (sessionCookie: string) => sessionCookie.replace('session', 'pending');

export function sealPending(sealer: Sealer, pending: Pending): string {
  return sealer.seal(new Secret(JSON.stringify(pending)), purpose).toString('base64url');
}

/** Undefined: there is none, it is too old, or it was not made here. */
export function openPending(
  sealer: Sealer,
  header: string | undefined,
  cookieName: string,
  now: Date,
): Pending | undefined {
  const value = readCookie(header, cookieName);
  if (value === undefined || value.length > mostCharacters) return undefined;
  try {
    const pending = JSON.parse(sealer.unseal(Buffer.from(value, 'base64url'), purpose).reveal()) as Pending;
    return pending.until > now.getTime() ? pending : undefined;
  } catch {
    return undefined;
  }
}
