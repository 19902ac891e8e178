import { assetNameLimitBytes } from '@headgate/contract';
import { problem } from '../../kernel/http/problems.ts';

/**
 * Why a part's name cannot be the path of a file (decisions.md E10), or undefined when it can.
 * What is refused here would be dangerous or ambiguous wherever the artifact is unpacked.
 */
export function findAssetNameFault(name: string): string | undefined {
  if (name.length <= assetNameLimitBytes && plainName.test(name)) return undefined;
  if (name === '') return 'the name is empty.';
  if (!name.isWellFormed()) return 'the name is not valid Unicode.';
  if (Buffer.byteLength(name) > assetNameLimitBytes)
    return `the name is longer than ${assetNameLimitBytes} bytes.`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\u0000-\u001f\u007f-\u009f]/.test(name)) return 'the name holds a control character.';
  if (name.includes('\\')) return 'the name holds a backslash; folders are separated by "/".';
  if (name.startsWith('/') || /^[a-z]:/i.test(name)) return 'the name is an absolute path.';
  const steps = name.split('/');
  if (steps.includes('..') || steps.includes('.')) return 'the name holds "." or ".." as a step.';
  if (steps.includes('')) return 'the name holds an empty step.';
  return undefined;
}

/**
 * Steps of ASCII that begin with a letter or digit, as nearly all names are: nothing can be wrong with them.
 */
const plainName = /^[a-z0-9_][\w.-]*(?:\/[a-z0-9_][\w.-]*)*$/i;

/** Two names that some file systems cannot tell apart: of one Unicode form (NFC) they are equal. */
export function normalizeName(name: string): string {
  return name.normalize('NFC');
}

/**
 * Throws `invalid-asset-name` when a name is also the folder of another one: no folder can hold both.
 *
 * @param names without control characters
 */
export function requireNoFileAsFolder(names: Iterable<string>): void {
  // With a separator that sorts before all other characters, what is in a folder follows directly after a file of the folder's name.
  const sorted = Array.from(names, (name) => name.replaceAll('/', '\0')).sort();
  for (let index = 1; index < sorted.length; index += 1) {
    const [file = '', next = ''] = [sorted[index - 1], sorted[index]];
    if (!next.startsWith(`${file}\0`)) continue;
    const name = next.replaceAll('\0', '/');
    const reason = `the part ${JSON.stringify(file.replaceAll('\0', '/'))} is a file, and cannot be its folder, too; rename one of them.`;
    throw problem('invalid-asset-name', { name, reason });
  }
}
