import { problem } from './problems.ts';

/**
 * A strong entity tag (RFC 9110 §8.8.3). It includes the id, so a new resource of the same name never gets an
 * old tag.
 */
export function makeEntityTag(id: string, version: number | string): string {
  return `"${version}-${id.slice(-12)}"`;
}

/** The supported response encodings. */
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

const encodedEnd = new RegExp(`-(?:${encodings.join('|')})"$`);

/**
 * Throws `etag-mismatch` unless `If-Match` (RFC 9110 §13.1.1) is absent, `*`, or has the tag, in any
 * encoding.
 */
export function requireMatch(ifMatch: string | undefined, tag: string): void {
  if (ifMatch === undefined) return;
  const wanted = ifMatch.split(',').map((each) => each.trim().replace(encodedEnd, '"'));
  if (!wanted.includes('*') && !wanted.includes(tag)) throw problem('etag-mismatch');
}
