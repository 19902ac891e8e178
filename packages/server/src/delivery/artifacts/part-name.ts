import { isUtf8 } from 'node:buffer';
import { unreadable } from './form-problems.ts';

/**
 * The name in a part's Content-Disposition (RFC 7578 §4.2), exactly as it was sent; only `\"` and `\\` are
 * unescaped, so that any other backslash is seen and refused. What stands in the value of another parameter
 * is no name. Empty when it has none.
 * @param header the part's header lines
 * @param number which part it is, from 1
 * @throws `invalid-upload`
 */
export function partName(header: Buffer, number: number): string {
  if (!isUtf8(header)) throw unreadable(`the headers of the part number ${number} are not UTF-8`);
  const text = header.toString();
  const usual = usualHeader.exec(text)?.[1];
  if (usual !== undefined) return usual;
  const [disposition, another] = text
    .split('\r\n')
    .flatMap((line) => /^content-disposition[ \t]*:[ \t]*(.*)$/is.exec(line)?.[1] ?? []);
  if (another !== undefined)
    throw unreadable(`the part number ${number} has two \`Content-Disposition\` headers`);
  if (disposition === undefined || !/^form-data\s*(;|$)/i.test(disposition))
    throw unreadable(`the part number ${number} has no \`Content-Disposition: form-data\` header`);
  for (const [, parameter = '', quoted, plain] of disposition
    .slice('form-data'.length)
    .matchAll(dispositionParameter)) {
    if (parameter.toLowerCase() === 'name') return quoted?.replaceAll(/\\(["\\])/g, '$1') ?? plain ?? '';
  }
  return '';
}

/** As nearly all clients write it; the rest is read by the grammar. */
const usualHeader =
  /^content-disposition: form-data; name="([^"\\\r\n]*)"(?:; filename="[^"\\\r\n]*")?(?:\r\ncontent-type: [^\r\n]*)?$/i;
/** One after another from the beginning: RFC 6266 §4.1. */
const dispositionParameter = /\s*;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/gy;
