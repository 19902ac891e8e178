/**
 * Unknown members of a request are ignored. The response names those similar to a known member, and strict
 * handling refuses them (decisions.md §2).
 */
import type { FastifyReply } from 'fastify';
import type { Ignored } from './validation.ts';

/** `Prefer: handling=strict` (RFC 7240 §4.4). */
export function prefersStrictHandling(prefer: string | readonly string[] | undefined): boolean {
  if (prefer === undefined) return false;
  return [prefer]
    .flat()
    .some((header) => /(?:^|[,;])\s*handling\s*=\s*"?strict"?\s*(?:[,;]|$)/i.test(header));
}

const longestWarning = 2_000;

/**
 * Sets the `Headgate-Warning` header: the ignored members that are similar to a known one, separated by
 * semicolons.
 */
export function warnOfIgnored(reply: FastifyReply, ignored: readonly Ignored[]): void {
  const sentences = ignored
    .filter(({ near }) => near !== undefined)
    .map(({ field, near }) => `${escapeNonAscii(field)} is unknown and was ignored; did you mean ${near}?`);
  if (sentences.length === 0) return;
  reply.header('headgate-warning', sentences.join('; ').slice(0, longestWarning));
}

/** Headers may contain only ASCII. */
function escapeNonAscii(text: string): string {
  return text.replaceAll(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
