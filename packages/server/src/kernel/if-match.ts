import { problem } from './problems.ts';

/** A strong entity tag (RFC 9110 §8.8.3) of one state of one resource: another resource of the same name never has it. */
export function entityTag(id: string, version: number | string): string {
  return `"${version}-${id.slice(-12)}"`;
}

/** Throws `etag-mismatch` unless `If-Match` (RFC 9110 §13.1.1) is absent, `*`, or names the tag. */
export function requireMatch(ifMatch: string | undefined, tag: string): void {
  if (ifMatch === undefined) return;
  const wanted = ifMatch.split(',').map((each) => each.trim());
  if (!wanted.includes('*') && !wanted.includes(tag)) throw problem('etag-mismatch');
}
