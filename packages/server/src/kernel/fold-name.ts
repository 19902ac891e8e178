/** The key of a unique name: names that differ only in case, or in how Unicode composes them, are the same. */
export function foldName(name: string): string {
  return name.normalize('NFC').toLowerCase();
}
