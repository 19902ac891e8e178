/**
 * Clients upload a whole working copy, with what git keeps in it. Those files are not taken, and not counted
 * (decisions.md E10).
 */
import { type IgnoredResource, listedGitResourceLimit } from '@headgate/contract';

const reason = "It belongs to git's own data below .git/, which is not part of a version.";

/** @param name the path of a file */
export function isGitFile(name: string): boolean {
  return /(?:^|\/)\.git(?:\/|$)/i.test(name);
}

/** A working copy may hold any number of them, so only the first ones are listed one by one. */
export function createGitFiles() {
  const listed: IgnoredResource[] = [];
  let more = 0;
  return {
    add(name: string): void {
      if (listed.length < listedGitResourceLimit) listed.push({ name, reason });
      else more += 1;
    },
    listIgnored(): IgnoredResource[] {
      if (more === 0) return listed;
      return [...listed, { name: '.git/', reason: `${more} more files belong to git's own data.` }];
    },
  };
}
