/**
 * Unknown members of a request are ignored. The response names those similar to a known member, and strict
 * handling refuses them.
 */
import type { Operation } from '@headgate/contract';
import type { FastifyReply } from 'fastify';
import type { Ignored } from './validation.ts';

/** `Prefer: handling=strict` (RFC 7240 §4.4). */
export function prefersStrictHandling(prefer: string | readonly string[] | undefined): boolean {
  if (prefer === undefined) return false;
  return [prefer]
    .flat()
    .some((header) => /(?:^|[,;])\s*handling\s*=\s*"?strict"?\s*(?:[,;]|$)/i.test(header));
}

export const warningHeader = 'headgate-warning';
const longestWarning = 2_000;

/**
 * Sets the `Headgate-Warning` header: the ignored members that are similar to a known one, or that the operation says
 * it does not take, and every unknown query parameter, separated by semicolons.
 */
export function warnOfIgnored(
  reply: FastifyReply,
  ignored: readonly Ignored[],
  { ignoredMembers = {} }: Pick<Operation, 'ignoredMembers'>,
): void {
  const sentences = ignored.flatMap(({ field, near }) => {
    const reason = field.startsWith('body.') ? ignoredMembers[field.slice('body.'.length)] : undefined;
    if (reason !== undefined) return `${field} was ignored: ${reason}`;
    // A filter that is ignored misleads, whatever its name.
    if (near === undefined)
      return field.startsWith('query.') ? `${escapeNonAscii(field)} is unknown and was ignored` : [];
    return `${escapeNonAscii(field)} is unknown and was ignored; did you mean ${near}?`;
  });
  if (sentences.length === 0) return;
  reply.header(warningHeader, sentences.join('; ').slice(0, longestWarning));
}

/** Headers may contain only ASCII. */
export function escapeNonAscii(text: string): string {
  return text.replaceAll(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
