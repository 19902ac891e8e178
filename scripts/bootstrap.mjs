// Every npm command runs this first, with any Node.js from version 18. It installs the dependencies of this
// checkout if needed, runs the command with Node.js 24, and forwards signals and the exit code. It is plain
// JavaScript without dependencies because Node.js 24 and the dependencies may not be installed yet.
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
  'sign-in-link': 'packages/server/src/main/commands/new-sign-in-link.ts',
  account: 'packages/server/src/main/commands/new-account.ts',
  'rotate-signing-key': 'packages/server/src/main/commands/rotate-signing-key.ts',
  backup: 'packages/server/src/main/commands/make-backup.ts',
  restore: 'packages/server/src/main/commands/restore-backup.ts',
  test: 'scripts/test.ts',
  check: 'scripts/check.ts',
  generate: 'scripts/generate.ts',
  bench: 'bench/main.ts',
  corpus: 'bench/pipeline-corpus/main.ts',
  fuzz: 'test/fuzz/main.ts',
  'fuzz-time': 'test/time-fuzz/main.ts',
  simulate: 'test/simulation/main.ts',
  soak: 'scripts/soak.ts',
  'pack-agent': 'scripts/pack-agent.ts',
  'new-resource': 'scripts/new-resource.ts',
});

/** Limits the memory of young objects. Without it the server exceeds 200 MiB (docs/adr/0041). */
const nodeOptions = ['--max-semi-space-size=16'];

const FORWARDED = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2']);
/**
 * npm forwards a Ctrl-C that the terminal has already sent to this process. Within this time it is the same
 * one.
 */
const SAME_SIGNAL_MS = 300;
const PARENT_WATCH_MS = 250;

/** @param {string[]} argv */
async function main([command = '', ...args]) {
  const entry = entries[command];
  if (entry === undefined) {
    throw new Error(`There is no command '${command}'. There are: ${Object.keys(entries).join(', ')}.`);
  }
  // Before the slow installation: a signal may arrive, or npm may end, while it runs.
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
  // In its own process group, so that Ctrl-C reaches it once, through this process.
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

/**
 * Until the child starts, a signal ends this process. The handlers are installed before the start: a signal
 * that arrives during the start must not leave a child without its parent.
 */
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

/**
 * Without npm's variables, which describe npm's own run, and without its entries in PATH, which hide the
 * user's programs.
 */
function environment() {
  const env = withoutNodeModules(process.env);
  for (const name of Object.keys(env)) if (/^npm_/i.test(name)) delete env[name];
  env.NODE_COMPILE_CACHE ??= join(checkout, 'node_modules', '.cache', 'compile');
  mkdirSync(env.NODE_COMPILE_CACHE, { recursive: true });
  return env;
}

/**
 * The npm process that started this one, if any. There may be a shell between them; `kill -9` of npm leaves
 * both running. Without /proc there is no cheap way to find npm. Then the command ends only with this
 * process.
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
