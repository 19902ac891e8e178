// `npm run soak -- MINUTES [--part NAME] [--seed N]` runs random tests that take too long for `npm test`,
// with fresh seeds, until the time is over or one fails. The parts take turns. Each prints its seed; a
// failure prints the command that repeats it.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readCommandLine } from './command-line.ts';
import { commandOf, isPart, PARTS, type PartName, turns } from './soak-parts.ts';

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
/** Added to the time of a part for its start and its end, on a machine that also does other things. */
const ALLOWANCE_SECONDS = 300;
/** From SIGTERM to SIGKILL. */
const GRACE_MS = 20_000;
const SHOWN_CHARACTERS = 50_000;

const { values, positionals, count, refuse } = readCommandLine(
  `npm run soak -- MINUTES [--part ${Object.keys(PARTS).join('|')}] [--seed N]`,
  { part: { type: 'string' }, seed: { type: 'string' } },
);
const minutes = count('MINUTES', positionals[0] ?? refuse('MINUTES is missing'));
const givenSeed = values.seed === undefined ? undefined : count('--seed', values.seed);
const chosen = values.part === undefined ? (Object.keys(PARTS) as PartName[]) : [partOf(values.part)];

function partOf(name: string): PartName {
  return isPart(name) ? name : refuse(`There is no part ${name}`);
}

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort());

/** @returns whether it passed */
async function run(part: PartName, seconds: number, seed: number): Promise<boolean> {
  const { args, environment, repeat } = commandOf(part, seconds, seed);
  console.log(`${part}, seed ${seed}, ${seconds} s`);
  let output = '';
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const child = spawn(process.execPath, args, {
    cwd: checkout,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
    // Its own process group, so that it and all that it started can be ended together.
    detached: true,
  });
  const ending = AbortSignal.any([
    stopping.signal,
    AbortSignal.timeout((seconds + ALLOWANCE_SECONDS) * 1_000),
  ]);
  const end = () => {
    endGroup(child, 'SIGTERM');
    setTimeout(() => endGroup(child, 'SIGKILL'), GRACE_MS).unref();
  };
  ending.addEventListener('abort', end, { once: true });
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-SHOWN_CHARACTERS);
    });
  child.on('error', (error) => {
    output += error.message;
  });
  child.on('close', (code) => resolve(code === 0));
  const passed = await promise;
  ending.removeEventListener('abort', end);
  console.log(passed ? `  ${output.trim().split('\n').at(-1)}` : output);
  if (!passed) console.log(`FAILED ${part}; repeat it by: ${repeat}`);
  return passed;
}

function endGroup({ pid }: ChildProcess, how: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, how);
  } catch {
    // It has ended already.
  }
}

const end = performance.now() + minutes * 60_000;
let passed = true;
for (const { part, seconds } of turns(chosen, minutes * 60, () => (end - performance.now()) / 1_000)) {
  passed = await run(part, seconds, givenSeed ?? randomInt(1, 1_000_000));
  if (!passed || stopping.signal.aborted) break;
}
if (stopping.signal.aborted) passed = false;
console.log(passed ? 'The soak passed.' : 'The soak failed.');
process.exitCode = passed ? 0 : 1;
