import { assetNameLimitBytes } from '@headgate/contract';
import { problem } from '../../../kernel/http/problems.ts';

/**
 * Returns why a part's name cannot be a file path, or undefined if it can. Refused names
 * would be dangerous or ambiguous when the artifact is unpacked.
 */
export function findAssetNameFault(name: string): string | undefined {
  if (name.length <= assetNameLimitBytes && plainName.test(name)) return undefined;
  if (name === '') return 'the name is empty.';
  if (!name.isWellFormed()) return 'the name is not valid Unicode.';
  if (Buffer.byteLength(name) > assetNameLimitBytes)
    return `the name is longer than ${assetNameLimitBytes} bytes.`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control characters
  if (/[\u0000-\u001f\u007f-\u009f]/.test(name)) return 'the name contains a control character.';
  if (name.includes('\\')) return 'the name contains a backslash; separate folders by "/".';
  if (name.startsWith('/') || /^[a-z]:/i.test(name)) return 'the name is an absolute path.';
  const steps = name.split('/');
  if (steps.includes('..') || steps.includes('.')) return 'the name contains the segment "." or "..".';
  if (steps.includes('')) return 'the name contains an empty segment.';
  return undefined;
}

/**
 * Segments of ASCII that begin with a letter, digit or underscore. Nearly all names match, and need no
 * further checks.
 */
const plainName = /^[a-z0-9_][\w.-]*(?:\/[a-z0-9_][\w.-]*)*$/i;

/** Some file systems treat names with the same Unicode form NFC as equal. */
export function normalizeName(name: string): string {
  return name.normalize('NFC');
}

/**
 * Throws `invalid-asset-name` if a name is also the folder of another one, which no folder can contain.
 * @param names without control characters
 */
export function requireNoFileAsFolder(names: Iterable<string>): void {
  // The separator sorts before all other characters, so the content of a folder follows directly after a
  // file of that name.
  const sorted = Array.from(names, (name) => name.replaceAll('/', '\0')).sort();
  for (let index = 1; index < sorted.length; index += 1) {
    const [file = '', next = ''] = [sorted[index - 1], sorted[index]];
    if (!next.startsWith(`${file}\0`)) continue;
    const name = next.replaceAll('\0', '/');
    const part = JSON.stringify(file.replaceAll('\0', '/'));
    const reason = `the part ${part} is a file, so it cannot also be a folder; rename one of them.`;
    throw problem('invalid-asset-name', { name, reason });
  }
}
