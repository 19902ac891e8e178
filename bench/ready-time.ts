/** The time from `npm start` to the first success of /readyz, on an existing installation. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Finding, median, spread, verdictAtMost } from './finding.ts';
import {
  cleanEnvironment,
  freePort,
  pidOfServer,
  removeFolder,
  temporaryFolder,
  untilReady,
} from './server-process.ts';
import type { Work } from './work.ts';

const checkout = fileURLToPath(new URL('..', import.meta.url));
const rounds = 3;
const endWithinMilliseconds = 60_000;

export const readyTime: Work = async () => {
  const findings: Finding[] = [];
  for (const example of ['off', 'on'] as const) {
    const fresh: number[] = [];
    const warm: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const folder = temporaryFolder();
      try {
        const dataDirectory = join(folder, 'data');
        fresh.push(await secondsToReady(dataDirectory, example));
        warm.push(await secondsToReady(dataDirectory, example));
      } finally {
        removeFolder(folder);
      }
    }
    const beside = example === 'on' ? ', which publishes the example' : '';
    findings.push(
      finding(`ready after npm start, new data directory${beside}`, fresh, 4),
      finding(`ready after npm start, warm${beside}`, warm, 2),
    );
  }
  return findings;
};

function finding(work: string, seconds: number[], most: number): Finding {
  const verdict = verdictAtMost(median(seconds), most);
  return { work, measured: `${spread(seconds)} s`, limit: `≤ ${most} s`, verdict, rounds: seconds };
}

async function secondsToReady(dataDirectory: string, example: 'on' | 'off'): Promise<number> {
  const port = await freePort();
  const env = cleanEnvironment({
    HEADGATE_DATA_DIR: dataDirectory,
    HEADGATE_PORT: String(port),
    HEADGATE_EXAMPLE: example,
  });
  const began = performance.now();
  const npm = spawn('npm', ['start'], { cwd: checkout, env, stdio: 'ignore' });
  const end = new Promise<void>((resolve) => npm.once('exit', () => resolve()));
  let ready = false;
  try {
    await untilReady(port, () => npm.exitCode !== null);
    ready = true;
    return (performance.now() - began) / 1_000;
  } finally {
    const late = setTimeout(() => npm.kill('SIGKILL'), endWithinMilliseconds);
    // To the server itself: npm forwards the signal only to a shell.
    if (ready) process.kill(pidOfServer(dataDirectory), 'SIGINT');
    else npm.kill('SIGTERM');
    await end;
    clearTimeout(late);
  }
}
