/**
 * Chains of imports inside a folder. A folder whose files stand on each other in many floors is several folders:
 * a reader has to know all floors to change one.
 */
import { dirname } from 'node:path';

export const MOST_FILES_IN_CHAIN = 7;

interface Importer {
  path: string;
  imports: readonly string[];
}

/** The longest chain of each folder, from the file that imports to the one that is imported. */
export function findLongestChains(files: readonly Importer[]): Map<string, string[]> {
  const importsOf = new Map(files.map(({ path, imports }) => [path, imports]));
  const chains = new Map<string, string[]>();
  const chainFrom = (path: string): string[] => {
    const known = chains.get(path);
    if (known !== undefined) return known;
    // Ends a cycle, which another check reports.
    chains.set(path, [path]);
    let rest: string[] = [];
    for (const imported of importsOf.get(path) ?? []) {
      if (!importsOf.has(imported) || dirname(imported) !== dirname(path)) continue;
      const chain = chainFrom(imported);
      if (chain.length > rest.length) rest = chain;
    }
    const chain = [path, ...rest];
    chains.set(path, chain);
    return chain;
  };
  const longest = new Map<string, string[]>();
  for (const { path } of files) {
    const chain = chainFrom(path);
    if (chain.length > (longest.get(dirname(path))?.length ?? 0)) longest.set(dirname(path), chain);
  }
  return longest;
}
