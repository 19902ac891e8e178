/** Restores the declared names of headers: HTTP does not distinguish `versionName` from `versionname`. */
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { Operation } from '@headgate/contract';
import { compileOnUse, textSchemas } from './schemas.ts';

export function createHeaderReader({
  headers,
}: Operation): (sent: IncomingHttpHeaders) => Record<string, string> {
  const declared = Object.entries(headers?.properties ?? {}).map(([name, schema]) => ({
    name,
    sentName: name.toLowerCase(),
    validator: compileOnUse(textSchemas, schema),
  }));
  return (sent) => {
    const found: Record<string, string> = {};
    for (const { name, sentName, validator } of declared) {
      const value = sent[sentName];
      if (value !== undefined) found[name] = readHeader(String(value), validator());
    }
    return found;
  };
}

/**
 * A value that is invalid as sent, but valid when URL-decoded (`My+Env`, `My%20Env`), is
 * taken as URL-encoded.
 */
function readHeader(header: string, isValid: (text: string) => boolean): string {
  const text = decodeHeader(header);
  if (isValid(text)) return text;
  const decoded = decodeUrlText(text);
  return decoded !== undefined && isValid(decoded) ? decoded : text;
}

/** Node reads header bytes as Latin-1; clients usually send UTF-8. */
function decodeHeader(header: string): string {
  const bytes = Buffer.from(header, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : header;
}

/** Undefined if the text does not decode, or decodes to characters that no header can contain. */
function decodeUrlText(text: string): string | undefined {
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', ' '));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    return /[\u0000-\u001f\u007f]/.test(decoded) ? undefined : decoded;
  } catch {
    return undefined;
  }
}
