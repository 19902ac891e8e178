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
  const rest = disposition.slice('form-data'.length).trimStart();
  const parameters = [...rest.matchAll(dispositionParameter)];
  const unread = rest.slice(parameters.reduce((length, [text]) => length + text.length, 0));
  if (!/^[\s;]*$/.test(unread))
    throw createUnreadableProblem(`the \`Content-Disposition\` of part ${number} cannot be read`);
  const names = parameters.filter(([, parameter = '']) => parameter.toLowerCase() === 'name');
  if (names.length > 1) throw createUnreadableProblem(`part ${number} has two names`);
  const [, , quoted, plain] = names[0] ?? [];
  return quoted?.replaceAll(/\\(["\\])/g, '$1') ?? plain ?? '';
}

/** Matches one parameter at a time from the beginning: RFC 6266 §4.1. */
const dispositionParameter = /;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))\s*/gy;
