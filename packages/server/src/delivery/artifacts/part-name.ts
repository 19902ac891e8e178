import { isUtf8 } from 'node:buffer';
import { createUnreadableProblem } from './form-problems.ts';

/** The values of a part's header by their names in lower case; each character is one byte. */
export type PartHeader = Readonly<Record<string, readonly string[] | undefined>>;

/**
 * The name in a part's Content-Disposition (RFC 7578 §4.2), exactly as it was sent. Only `\"` and `\\` are
 * unescaped, so that any other backslash is seen and refused. Empty when there is no name.
 * @param number which part it is, from 1
 * @throws `invalid-upload`
 */
export function readPartName(header: PartHeader, number: number): string {
  const [value, another] = header['content-disposition'] ?? [];
  if (another !== undefined)
    throw createUnreadableProblem(`the part number ${number} has two \`Content-Disposition\` headers`);
  const bytes = Buffer.from(value ?? '', 'latin1');
  if (!isUtf8(bytes)) throw createUnreadableProblem(`the headers of the part number ${number} are not UTF-8`);
  const disposition = bytes.toString().trim();
  if (!/^form-data\s*(;|$)/i.test(disposition))
    throw createUnreadableProblem(
      `the part number ${number} has no \`Content-Disposition: form-data\` header`,
    );
  for (const [, parameter = '', quoted, plain] of disposition
    .slice('form-data'.length)
    .matchAll(dispositionParameter)) {
    if (parameter.toLowerCase() === 'name') return quoted?.replaceAll(/\\(["\\])/g, '$1') ?? plain ?? '';
  }
  return '';
}

/** One after another from the beginning: RFC 6266 §4.1. */
const dispositionParameter = /\s*;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/gy;
