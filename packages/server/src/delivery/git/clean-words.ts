/** Words of git for people: without the server's paths, addresses and what looks like a credential. */
export function cleanGitWords(text: string, folders: readonly string[]): string {
  let words = text;
  for (const folder of folders) words = words.replaceAll(folder, '(repository)');
  return words
    .replaceAll(/(?<![a-z0-9+.-])[a-z0-9+.-]+:\/\/[^\s'"]+/gi, '(address)')
    .replaceAll(/\b(authorization|proxy-authorization|extraheader)\b[^\n]*/gi, '$1: (hidden)')
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
    .trim();
}
