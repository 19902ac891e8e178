import { assetNameLimitBytes } from '@headgate/contract';

/**
 * Why a part's name cannot be the path of a file (decisions.md E10), or undefined when it can.
 * What is refused here would be dangerous or ambiguous wherever the artifact is unpacked.
 */
export function assetNameFault(name: string): string | undefined {
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
export function sameNameKey(name: string): string {
  return name.normalize('NFC');
}
