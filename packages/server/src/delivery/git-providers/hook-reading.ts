/** What the readers of webhooks share: comparison of secrets, bodies, branches. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Secret } from '@headgate/contract';
import type { HookFaultCode, HookReading } from './git-provider.ts';
import { isMembers, type Members } from './provider-answer.ts';

export const refuse = (code: HookFaultCode, detail: string): HookReading => ({
  kind: 'refused',
  code,
  detail,
});

/** Takes the same time wherever the texts differ. */
export function isSameText(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

export function computeHmac(key: string | Buffer, ...parts: (string | Buffer)[]): Buffer {
  const hmac = createHmac('sha256', key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** Basic credentials with the secret as password, whatever the user name is. */
export function isBasicPassword(header: string, secret: Secret): boolean {
  const encoded = /^basic +([a-z0-9+/=]+)$/i.exec(header)?.[1];
  if (encoded === undefined) return false;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon >= 0 && isSameText(text.slice(colon + 1), secret.reveal());
}

/** Undefined if it is not one JSON object. */
export function readHookBody(body: Buffer): Members | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return isMembers(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const branchPrefix = 'refs/heads/';
const longestBranch = 255;

/** The branch that a full ref name names; undefined for tags and other refs. */
export function readBranch(ref: unknown): string | undefined {
  if (typeof ref !== 'string' || !ref.startsWith(branchPrefix)) return undefined;
  const branch = ref.slice(branchPrefix.length);
  return branch === '' || branch.length > longestBranch ? undefined : branch;
}

const idPattern = /^[\w.:@/+=-]{1,200}$/;

/** Undefined if there is none, or it is no identifier. */
export function readDeliveryId(value: unknown): string | undefined {
  return typeof value === 'string' && idPattern.test(value) ? value : undefined;
}

/**
 * A hook that says when it happened is refused after this time. Delivery ids are kept for longer, so that a
 * hook cannot be repeated.
 */
export const oldestHookSeconds = 3 * 86_400;
/** Clocks may differ by this, and signed time stamps may be this old (Standard Webhooks). */
export const signedSeconds = 300;

export function isTooOld(happenedAt: unknown, now: Date, most = oldestHookSeconds): boolean {
  const at =
    typeof happenedAt === 'number'
      ? happenedAt * 1_000
      : Date.parse(typeof happenedAt === 'string' ? happenedAt : '');
  return Number.isFinite(at) && now.getTime() - at > most * 1_000;
}
