/** Names of refs, by the rules of git-check-ref-format(1), for UTF-8. */

const longestBytes = 1_000;

/** @param name a full name, such as refs/heads/main @returns what is wrong with it, or undefined */
export function findRefNameFault(name: string): string | undefined {
  if (!name.isWellFormed() || name.includes('\ufffd')) return 'it is not UTF-8';
  if (Buffer.byteLength(name) > longestBytes) return `it has more than ${longestBytes} bytes`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what git refuses
  if (/[\x00-\x20\x7f~^:?*[\\]/.test(name))
    return 'it has a space, a control character or one of ~ ^ : ? * [ \\';
  if (name.includes('..') || name.includes('@{')) return 'it has .. or @{';
  const parts = name.split('/');
  if (parts.length < 2 || parts.includes('')) return 'it has an empty part';
  if (parts.some((part) => part.startsWith('.') || part.endsWith('.lock')))
    return 'a part of it starts with . or ends with .lock';
  if (name.endsWith('.') || name === '@') return 'it ends with a dot';
  if (parts.length === 3 && parts[2]?.startsWith('-')) return 'it starts with -';
  if (parts.length === 3 && parts[2] === 'HEAD') return 'HEAD is a name of git itself';
  return undefined;
}

/** @param branch without refs/heads/ */
export function findBranchNameFault(branch: string): string | undefined {
  return branch === '' ? 'it is empty' : findRefNameFault(`refs/heads/${branch}`);
}

export const isObjectId = (text: string): boolean => /^[0-9a-f]{40}$/.test(text);
