import { problem } from './problems.ts';

/**
 * A strong entity tag (RFC 9110 §8.8.3). It includes the id, so a new resource of the same name never gets an
 * old tag.
 */
export function makeEntityTag(id: string, version: number | string): string {
  return `"${version}-${id.slice(-12)}"`;
}

/** The supported response encodings, which `encodedEnd` has too. */
export const encodings = ['br', 'gzip'] as const;

/** The entity tag of an encoded response, which is another representation (RFC 9110 §8.8.3.3). */
export function addEncodingToTag(tag: string, encoding: (typeof encodings)[number]): string {
  return tag.replace(/"$/, `-${encoding}"`);
}

/** `If-None-Match` (RFC 9110 §13.1.2), with weak comparison. */
export function isKnownTag(ifNoneMatch: string, tag: string): boolean {
  const known = ifNoneMatch
    .split(',')
    .map((each) => each.trim().replace(/^W\//, '').replace(encodedEnd, '"'));
  return known.includes('*') || known.includes(tag);
}

const encodedEnd = /-(?:br|gzip)"$/;

/** What a request says that its caller has seen. */
export interface Seen {
  ifMatch: string | undefined;
  digest: string | undefined;
}

/**
 * Throws `digest-mismatch` unless all that the request names is the current state. `*` matches any state, as in RFC
 * 9110 §13.1.1.
 *
 * @param from where the caller sees it, for the sentence of the problem
 * @param tag the ETag of the resource, if it is not the digest
 */
export function requireSeen({ ifMatch, digest }: Seen, current: string, from: string, tag?: string): void {
  const isCurrent = (named: string) => named === '*' || named === `"${current}"` || named === tag;
  const isMatched = ifMatch === undefined || readTags(ifMatch).some(isCurrent);
  if (!isMatched || (digest !== undefined && digest !== current)) throw problem('digest-mismatch', { from });
}

/** Throws `precondition-required` unless the request names a state. `*` names none. */
export function requireNamed({ ifMatch, digest }: Seen, from: string): void {
  if (digest !== undefined) return;
  if (ifMatch === undefined || readTags(ifMatch).includes('*'))
    throw problem('precondition-required', { from });
}

/** The tags of `If-Match`, of whatever encoding of the response. */
function readTags(ifMatch: string): string[] {
  return ifMatch.split(',').map((each) => each.trim().replace(encodedEnd, '"'));
}

/**
 * Throws `etag-mismatch` unless `If-Match` (RFC 9110 §13.1.1) is absent, `*`, or has the tag, in any
 * encoding.
 */
export function requireMatch(ifMatch: string | undefined, tag: string): void {
  if (ifMatch === undefined) return;
  const tags = readTags(ifMatch);
  if (!tags.includes('*') && !tags.includes(tag)) throw problem('etag-mismatch');
}
