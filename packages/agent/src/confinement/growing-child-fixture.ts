/** Test process that stays small and starts a growing process in another process group. */
import { spawn } from 'node:child_process';

const source = `
  const kept = [];
  setInterval(() => kept.push(Buffer.alloc(4 * 1024 * 1024, 1)) < 256 || process.exit(), 5);
`;
const child = spawn(process.execPath, ['-e', source], { stdio: 'ignore', detached: true });
process.send?.(child.pid);
