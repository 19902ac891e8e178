import { isUtf8 } from 'node:buffer';
import { unreadable } from './form-problems.ts';

/** The values of a part's header by their names in lower case; each character is one byte. */
export type PartHeader = Readonly<Record<string, readonly string[] | undefined>>;

/**
 * The name in a part's Content-Disposition (RFC 7578 §4.2), exactly as it was sent. Only `\"` and `\\` are
 * unescaped, so that any other backslash is seen and refused. Empty when there is no name.
 * @param number which part it is, from 1
 * @throws `invalid-upload`
 */
export function partName(header: PartHeader, number: number): string {
  const [value, another] = header['content-disposition'] ?? [];
  if (another !== undefined)
    throw unreadable(`the part number ${number} has two \`Content-Disposition\` headers`);
  const bytes = Buffer.from(value ?? '', 'latin1');
  if (!isUtf8(bytes)) throw unreadable(`the headers of the part number ${number} are not UTF-8`);
  const disposition = bytes.toString().trim();
  if (!/^form-data\s*(;|$)/i.test(disposition))
    throw unreadable(`the part number ${number} has no \`Content-Disposition: form-data\` header`);
  const rest = disposition.slice('form-data'.length);
  const parameters = [...rest.matchAll(dispositionParameter)];
  const unread = rest.slice(parameters.reduce((length, [text]) => length + text.length, 0));
  if (!/^[\s;]*$/.test(unread))
    throw unreadable(`the \`Content-Disposition\` of the part number ${number} cannot be read`);
  const names = parameters.filter(([, parameter = '']) => parameter.toLowerCase() === 'name');
  if (names.length > 1) throw unreadable(`the part number ${number} has two names`);
  const [, , quoted, plain] = names[0] ?? [];
  return quoted?.replaceAll(/\\(["\\])/g, '$1') ?? plain ?? '';
}

/** One after another from the beginning: RFC 6266 §4.1. */
const dispositionParameter = /\s*;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/gy;
