/**
 * Clients upload a whole working copy with its .git folder. Those files are ignored and do not count for
 * the limits.
 */
import { type IgnoredResource, listedGitResourceLimit } from '@headgate/contract';

const reason = 'Files in .git/ are not part of a version.';

/** @param name a file path */
export function isGitFile(name: string): boolean {
  return /(?:^|\/)\.git(?:\/|$)/i.test(name);
}

/** There may be any number of them, so only the first ones are listed. */
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
      return [...listed, { name: '.git/', reason: `${more} more files in .git/ were ignored.` }];
    },
  };
}
