/** Stands for an agent: runs the script of its first argument, and says its folder and the processes. */
import { readFileSync } from 'node:fs';
import { createScriptsFixture } from './script-fixture.ts';

const fixture = createScriptsFixture();
const looking = setInterval(() => {
  const found = findDescendants(process.pid);
  // The outer process, init, bash and its child.
  if (found.length < 4 || !fixture.logged.some((line) => line.includes('confined'))) return;
  clearInterval(looking);
  console.log(JSON.stringify({ processes: found, folder: fixture.folder }));
}, 50);
const { message } = await fixture.run(process.argv[2] ?? 'sleep 600');
throw new Error(`the script ended before the agent was killed: ${message}`);

function findDescendants(pid: number | string): string[] {
  return findChildren(pid).flatMap((child) => [child, ...findDescendants(child)]);
}

function findChildren(pid: number | string): string[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean);
  } catch {
    // It ended since its parent was looked at.
    return [];
  }
}
