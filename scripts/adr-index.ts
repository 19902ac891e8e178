/** The list of the decisions in `docs/adr`, from the titles of their files. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const head = `<!-- Written by \`npm run generate\` from the titles of the files. Do not edit. -->

# Decisions

Each file says why something is as it is, what else was tried, and what was measured. A decision is replaced by a later one, not edited. The numbers 47, 62,
71, 88, 101, 106 and 110 are not used.

`;

/** @param folder with the decisions */
export function renderDecisionIndex(folder: string): string {
  const files = readdirSync(folder).filter((file) => /^\d{4}-.*\.md$/.test(file));
  const lines = files.sort().map((file) => {
    const title = /^# \d{4} (.+)$/m.exec(readFileSync(join(folder, file), 'utf8'))?.[1];
    if (title === undefined) throw new Error(`docs/adr/${file} has no title such as "# 0001 Title"`);
    return `- [${file.slice(0, 4)}](${file}) ${title}\n`;
  });
  return head + lines.join('');
}
