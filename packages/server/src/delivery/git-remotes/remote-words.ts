/** What went wrong with another Git host, as sentences for the tenant who set its address. */
import { EgressRefused, EgressUnresolved } from '../../kernel/security/egress.ts';
import { removeMarkup } from '../../kernel/security/markup.ts';
import { explainFailure } from '../../kernel/security/outgoing-failure.ts';
import { RemoteFailed, type RemoteFailure } from './remote.ts';

const mostTextCharacters = 1_000;
/** Of a page, whose text is behind its head. */
const mostReadCharacters = 65_536;

/** Removes what a host's text must not carry on: credentials, control characters and markup. */
export function cleanText(text: string, secrets: readonly string[]): string {
  let cleaned = text;
  for (const secret of secrets) cleaned = cleaned.replaceAll(secret, '[credential]');
  return (
    removeMarkup(cleaned.slice(0, mostReadCharacters))
      // User and password of an address.
      .replaceAll(/:\/\/[^\s/@]{1,500}@/g, '://')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control characters
      .replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\ufffd]+/g, ' ')
      .replaceAll(/ {2,}/g, ' ')
      .trim()
      .slice(0, mostTextCharacters)
  );
}

/** An address as words show it: without user, password, query and fragment. */
export function showAddress(url: URL): string {
  return url.origin + url.pathname;
}

/** A redirect. It is not followed: another host must not get the request, and a tenant should see the move. */
export function explainRedirect(from: URL, status: number, location: string | undefined): RemoteFailure {
  const to =
    location !== undefined && URL.canParse(location, from.href) ? new URL(location, from.href) : null;
  // Git asks for info/refs below the address of the repository.
  const target = to === null ? 'an invalid address' : showAddress(to).replace(/\/info\/refs$/, '');
  return {
    kind: 'redirect',
    status,
    reason: `${from.host} redirects to ${target}. Redirects are not followed; if the repository has moved there, use that address.`,
  };
}

const cause = new Map<number, (host: string, hasCredential: boolean) => string>([
  [
    401,
    (host, has) =>
      has
        ? `${host} rejects the token (401). It may have expired or been revoked; store a new one.`
        : `${host} asks for a token (401), and none is stored for this address. Store one.`,
  ],
  [
    403,
    (host) =>
      `${host} does not permit this (403). Grant the token read access to the repository, and write access to push.`,
  ],
  [
    404,
    (host, has) =>
      `${host} has no such repository, or hides it from ${has ? 'this token' : 'callers without a token'} (404).`,
  ],
  [407, (host) => `A proxy before ${host} asks for a credential (407).`],
  [410, (host) => `${host} says that the repository is gone (410).`],
  [413, (host) => `${host} does not take that much at once (413).`],
  [429, (host) => `${host} limits the number of requests (429).`],
]);

export interface FailedStatus {
  url: URL;
  status: number;
  headers: Readonly<Record<string, string | undefined>>;
  /** What the host wrote, cleaned. */
  text: string;
  hasCredential: boolean;
}

export function explainStatus({ url, status, headers, text, hasCredential }: FailedStatus): RemoteFailure {
  const explained =
    cause.get(status)?.(url.host, hasCredential) ??
    (status >= 500 ? `${url.host} failed (${status}).` : `${url.host} answered ${status}.`);
  const wait = /^\d{1,6}$/.test(headers['retry-after'] ?? '')
    ? ` Try again in ${headers['retry-after']} s.`
    : '';
  return { kind: 'status', status, headers, text, reason: explained + wait };
}

/** The failure of a request that had no answer, or whose answer broke off. */
export function toRemoteFailure(failure: unknown, url: string, isAnswered = false): RemoteFailure {
  if (failure instanceof RemoteFailed) return failure.failure;
  if (failure instanceof EgressUnresolved) return { kind: 'unreachable', reason: failure.message };
  if (failure instanceof EgressRefused) return { kind: 'address-refused', reason: failure.message };
  const host = URL.canParse(url) ? new URL(url).host : 'The host';
  if (isAnswered)
    return { kind: 'cut', reason: `${host} closed the connection before its answer was complete.` };
  return { kind: 'unreachable', reason: `${host}: ${explainFailure(failure, 'host')}` };
}
