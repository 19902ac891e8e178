const shortCommit = 12;
const longestName = 255;

/** `1a2b3c4d5e6f-main`; characters that a version name cannot have become `_`. */
export function renderVersionName(commit: string, branch: string | null): string {
  const short = commit.slice(0, shortCommit);
  if (branch === null) return short;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control characters
  const words = branch.toWellFormed().replace(/[\u0000-\u001f\u007f]/g, '_');
  // Room for the number of a repeated publication.
  return `${short}-${words}`.slice(0, longestName - 8).trimEnd();
}

/** A branch that goes back to an earlier commit publishes it once more: `1a2b3c4d5e6f-main.2`. */
export function chooseVersionName(base: string, taken: ReadonlySet<string>): string {
  if (!taken.has(base)) return base;
  for (let turn = 2; ; turn += 1) if (!taken.has(`${base}.${turn}`)) return `${base}.${turn}`;
}
