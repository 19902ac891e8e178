// What `npm start`, `npm test` and the others run first, with whatever Node (18 or later) is at hand: it sees to it that
// this checkout's dependencies are installed, then runs the real command with Node 24 and passes signals and its exit
// code on. Plain JavaScript without dependencies, because it comes before both.
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installation, lifeline, withoutNodeModules } from './installation.mjs';
import { processIdentity } from './process-lock.mjs';

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));

const entries = /** @type {Record<string, string>} */ ({
  start: 'packages/server/src/main/server.ts',
  credential: 'packages/server/src/main/commands/new-credential.ts',
  account: 'packages/server/src/main/commands/new-account.ts',
  'rotate-signing-key': 'packages/server/src/main/commands/rotate-signing-key.ts',
  backup: 'packages/server/src/main/commands/make-backup.ts',
  restore: 'packages/server/src/main/commands/restore-backup.ts',
  test: 'scripts/test.ts',
  check: 'scripts/check.ts',
  generate: 'scripts/generate.ts',
  bench: 'bench/main.ts',
  fuzz: 'test/fuzz/main.ts',
  simulate: 'test/simulation/main.ts',
  'pack-agent': 'scripts/pack-agent.ts',
  'new-resource': 'scripts/new-resource.ts',
});

/**
 * Keeps the processes small: most objects of a request die young, in 3 × 16 MB, and the old generation may double before it is collected.
 * Measured: 175 MiB in place of 202 after 100,000 requests. Growing by a fifth it was 151, but an upload, whose pieces count as growth, was
 * collected after every 5 MB and took half as much again.
 */
const nodeOptions = ['--max-semi-space-size=16', '--heap-growing-percent=100'];

const FORWARDED = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2']);
/** npm passes on a Ctrl-C that the terminal has already sent to this process: within this time it is the same one. */
const SAME_SIGNAL_MS = 300;
const PARENT_WATCH_MS = 250;

/** @param {string[]} argv */
async function main([command = '', ...args]) {
  const entry = entries[command];
  if (entry === undefined) {
    throw new Error(`There is no command '${command}'. There are: ${Object.keys(entries).join(', ')}.`);
  }
  // Before anything slow: a signal, or the end of npm, may come while this installs.
  const signals = forwardSignals();
  const npm = npmAbove();
  const { node } = await installation(checkout);
  signals.to(run(node, join(checkout, entry), args, npm));
}

/**
 * @param {string} node
 * @param {string} entry
 * @param {string[]} args
 * @param {{ pid: number, identity: string } | undefined} npm
 * @returns {import('node:child_process').ChildProcess}
 */
function run(node, entry, args, npm) {
  // In a group of its own, so that Ctrl-C reaches it once: from here.
  const child = spawn(node, [...nodeOptions, '--require', lifeline, entry, ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    detached: true,
    env: environment(),
  });
  child.on('error', (error) => fail(`Cannot run ${node}: ${error.message}`));
  child.on('exit', (code, signal) => {
    process.exit(code ?? 128 + (signal ? constants.signals[signal] : 0));
  });
  if (npm) {
    const watch = setInterval(() => {
      if (processIdentity(npm.pid) === npm.identity) return;
      clearInterval(watch);
      child.kill('SIGTERM');
    }, PARENT_WATCH_MS);
  }
  return child;
}

/** A signal ends this process as long as there is no child. Listened to before there is one, or the one that comes in between leaves a child alone. */
function forwardSignals() {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  let child;
  let last = -Infinity;
  for (const signal of FORWARDED) {
    process.on(signal, () => {
      if (!child) process.exit(128 + constants.signals[signal]);
      const now = performance.now();
      if (now - last < SAME_SIGNAL_MS) return;
      last = now;
      child.kill(signal);
    });
  }
  return {
    /** @param {import('node:child_process').ChildProcess} started */
    to(started) {
      child = started;
    },
  };
}

/** npm's own variables describe npm's run, not ours; what it put on the path hides the user's programs. */
function environment() {
  const env = withoutNodeModules(process.env);
  for (const name of Object.keys(env)) if (/^npm_/i.test(name)) delete env[name];
  env.NODE_COMPILE_CACHE ??= join(checkout, 'node_modules', '.cache', 'compile');
  mkdirSync(env.NODE_COMPILE_CACHE, { recursive: true });
  return env;
}

/**
 * The npm process that this was started by, if it was. A shell may stand in between; `kill -9` of npm leaves both behind.
 * Without /proc there is no cheap way to see this; then only the end of this process ends the command.
 */
function npmAbove() {
  if (process.env.npm_lifecycle_event === undefined || process.platform !== 'linux') return undefined;
  let pid = process.ppid;
  for (let level = 0; level < 3 && pid > 1; level++) {
    const identity = processIdentity(pid);
    const { name, parent } = nameAndParent(pid);
    if (identity === undefined) return undefined;
    if (!/^(ba|da|a|z|k)?sh$/.test(name)) return { pid, identity };
    pid = parent;
  }
  return undefined;
}

/** @param {number} pid */
function nameAndParent(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const end = stat.lastIndexOf(')');
    return {
      name: stat.slice(stat.indexOf('(') + 1, end),
      parent: Number(stat.slice(end + 4).split(' ')[0]),
    };
  } catch {
    return { name: '', parent: 0 };
  }
}

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  process.stderr.write(`headgate: ${message}\n`);
  process.exit(1);
}

main(process.argv.slice(2)).catch((error) => fail(error instanceof Error ? error.message : String(error)));
