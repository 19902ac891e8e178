import { isUtf8 } from 'node:buffer';
import { createUnreadableProblem } from './form-problems.ts';

/** The values of a part's header by lower-case name; each character is one byte. */
export type PartHeader = Readonly<Record<string, readonly string[] | undefined>>;

/**
 * Returns the name in a part's Content-Disposition (RFC 7578 §4.2) exactly as it was sent. Unescapes only
 * `\"` and `\\`, so that any other backslash is detected and refused. Empty if there is no name.
 * @param number of the part, from 1
 * @throws `invalid-upload`
 */
export function readPartName(header: PartHeader, number: number): string {
  const [value, another] = header['content-disposition'] ?? [];
  if (another !== undefined)
    throw createUnreadableProblem(`part ${number} has two \`Content-Disposition\` headers`);
  const bytes = Buffer.from(value ?? '', 'latin1');
  if (!isUtf8(bytes)) throw createUnreadableProblem(`the headers of part ${number} are not UTF-8`);
  const disposition = bytes.toString().trim();
  if (!/^form-data\s*(;|$)/i.test(disposition))
    throw createUnreadableProblem(`part ${number} has no \`Content-Disposition: form-data\` header`);
  for (const [, parameter = '', quoted, plain] of disposition
    .slice('form-data'.length)
    .matchAll(dispositionParameter)) {
    if (parameter.toLowerCase() === 'name') return quoted?.replaceAll(/\\(["\\])/g, '$1') ?? plain ?? '';
  }
  return '';
}

/** Matches one parameter at a time from the beginning: RFC 6266 §4.1. */
const dispositionParameter = /\s*;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/gy;
