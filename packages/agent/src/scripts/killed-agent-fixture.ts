/** Stands for an agent: runs the script of its first argument, and says the host's ids of the processes. */
import { readFileSync } from 'node:fs';
import { createScriptsFixture } from './script-fixture.ts';

const fixture = createScriptsFixture();
const running = fixture.run(process.argv[2] ?? 'sleep 600');
const children = (pid: number | string): string[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean);
const descendants = (pid: number | string): string[] =>
  children(pid).flatMap((child) => [child, ...descendants(child)]);
const looking = setInterval(() => {
  const found = descendants(process.pid);
  // The outer process, init, bash and its child.
  if (found.length < 4 || !fixture.logged.some((line) => line.includes('confined'))) return;
  clearInterval(looking);
  console.log(JSON.stringify(found));
}, 50);
await running;
