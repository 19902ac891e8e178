import { problem } from './problems.ts';

/** A strong entity tag (RFC 9110 §8.8.3) of one state of one resource: another resource of the same name never has it. */
export function makeEntityTag(id: string, version: number | string): string {
  return `"${version}-${id.slice(-12)}"`;
}

/** How an answer may be encoded. */
export const encodings = ['br', 'gzip'] as const;

/** The tag of the same state in an encoding, which is another representation of it (RFC 9110 §8.8.3.3). */
export function addEncodingToTag(tag: string, encoding: (typeof encodings)[number]): string {
  return tag.replace(/"$/, `-${encoding}"`);
}

const encodedEnd = new RegExp(`-(?:${encodings.join('|')})"$`);

/** Throws `etag-mismatch` unless `If-Match` (RFC 9110 §13.1.1) is absent, `*`, or names the tag, in whatever encoding its state was read. */
export function requireMatch(ifMatch: string | undefined, tag: string): void {
  if (ifMatch === undefined) return;
  const wanted = ifMatch.split(',').map((each) => each.trim().replace(encodedEnd, '"'));
  if (!wanted.includes('*') && !wanted.includes(tag)) throw problem('etag-mismatch');
}
