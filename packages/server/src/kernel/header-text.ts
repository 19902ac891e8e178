import { isUtf8 } from 'node:buffer';

/** A header's text: HTTP carries bytes, which Node reads as Latin-1 and clients mean as UTF-8. */
export function headerText(header: string): string {
  const bytes = Buffer.from(header, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : header;
}
