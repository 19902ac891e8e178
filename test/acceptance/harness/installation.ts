/**
 * An installation for a test, with its own data directory and port. Tests start it, stop it and kill its
 * processes.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { makeDataDirectory } from '../../../packages/server/src/main/host/places.ts';
import { waitUntil } from '../../../packages/server/testing/waiting.ts';
import { ApiClient } from './client.ts';
import { type FoundProcess, isAlive, type ProcessKind, processesNaming, signal } from './processes.ts';

export const checkout = fileURLToPath(new URL('../../..', import.meta.url));
export const isRoot = process.getuid?.() === 0;

/** These bound a hang: on a busy machine a start takes a minute. */
const readySeconds = 180;
const endSeconds = 180;

/**
 * A descriptor that every installation inherits, as from a shell that has a file open. It reaches none of the
 * programs that the server and the agent start.
 */
const foreignDescriptor = 77;
export const foreignFile = fileURLToPath(import.meta.url);

/** By `npm start`, only the server where npm does not matter, or a command as npm runs it, but without npm. */
export type Way = 'npm' | 'node' | 'command';

export interface Settings {
  /** Environment variables. An undefined one is removed, even if it has a default here. */
  environment?: Record<string, string | undefined>;
  /** Other users may not enter the folder that contains the data directory. */
  closedFolder?: boolean;
  /** Runs as this user; needs root. */
  user?: { uid: number; gid: number };
  /** Makes its own PostgreSQL at its first start, as users have it. Others copy one that the test run made. */
  fromEmpty?: boolean;
}

export class Installation {
  readonly folder: string;
  readonly dataDirectory: string;
  readonly port: number;
  readonly url: string;
  readonly clientId = 'operator';
  readonly clientSecret = `secret-of-the-operator-${randomBytes(12).toString('hex')}`;
  /** All output of all starts. */
  output = '';
  readonly #settings: Settings;
  readonly #added: Record<string, string | undefined> = {};
  readonly #started: ChildProcess[] = [];

  private constructor(settings: Settings, port: number) {
    this.#settings = settings;
    this.folder = mkdtempSync(join(tmpdir(), 'headgate-acceptance-'));
    if (isRoot && !settings.closedFolder) chmodSync(this.folder, 0o711);
    this.dataDirectory = join(this.folder, 'data');
    this.port = port;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async create(settings: Settings = {}): Promise<Installation> {
    return new Installation(settings, await freePort());
  }

  /** Sets environment variables for later starts. */
  set(environment: Record<string, string | undefined>): void {
    Object.assign(this.#added, environment);
  }

  client(clientId = this.clientId, clientSecret = this.clientSecret): ApiClient {
    return new ApiClient(this.url, clientId, clientSecret);
  }

  /** The environment of a start. */
  environment(): Record<string, string> {
    const foreign = /^(HEADGATE_|npm_|NODE_TEST|NODE_OPTIONS$|DATABASE_URL$|PG[A-Z]+$)/i;
    const own = Object.entries(process.env).filter(([name]) => !foreign.test(name));
    const input = {
      ...Object.fromEntries(own),
      HEADGATE_DATA_DIR: this.dataDirectory,
      HEADGATE_PORT: String(this.port),
      HEADGATE_CLIENT_ID: this.clientId,
      HEADGATE_CLIENT_SECRET: this.clientSecret,
      HEADGATE_EXAMPLE: 'off',
      HEADGATE_RATE_LIMIT: 'off',
      ...this.#settings.environment,
      ...this.#added,
    };
    const entries = Object.entries(input).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    return Object.fromEntries(entries);
  }

  /** Starts without waiting, in a new process group, as a terminal does. */
  launch(way: Way = 'node', ...args: string[]): ChildProcess {
    const [program, ...rest] = programs[way](args);
    const foreign = openSync(foreignFile, 'r');
    const child = spawn(program, rest, {
      cwd: checkout,
      env: this.environment(),
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', ...Array<'ignore'>(foreignDescriptor - 3).fill('ignore'), foreign],
      ...this.#settings.user,
    });
    closeSync(foreign);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
      });
    }
    this.#started.push(child);
    return child;
  }

  /** Starts, and waits until it is ready. */
  async start(way: Way = 'node'): Promise<ChildProcess> {
    this.copyCluster();
    const child = this.launch(way);
    await this.ready(child);
    return child;
  }

  /**
   * Before the first start. Does nothing if this installation has its own place or user for PostgreSQL, or had a
   * start or a restore.
   */
  copyCluster(): void {
    const { fromEmpty, closedFolder, user } = this.#settings;
    const { DATABASE_URL: theirs } = this.environment();
    const target = join(this.dataDirectory, 'postgres');
    const isAlone = fromEmpty || closedFolder || user !== undefined || theirs !== undefined;
    if (isAlone || existsSync(target)) return;
    const cluster = process.env.HEADGATE_TEST_CLUSTER;
    if (cluster === undefined) throw new Error('there is no cluster to copy: run the tests with `npm test`');
    makeDataDirectory(this.dataDirectory);
    // With owners and modes: PostgreSQL refuses the files of another user.
    execFileSync('cp', ['-a', cluster, target]);
  }

  async isReady(): Promise<boolean> {
    const answer = await fetch(`${this.url}/readyz`, { signal: AbortSignal.timeout(5_000) }).catch(
      () => undefined,
    );
    await answer?.arrayBuffer().catch(() => undefined);
    return answer?.ok === true;
  }

  /** @throws with the last output, when it is not ready in time or `child` ends before */
  async ready(child?: ChildProcess): Promise<void> {
    let over = false;
    try {
      await waitUntil(`ready at ${this.url}`, readySeconds, () => {
        over = child !== undefined && hasEnded(child);
        return over || this.isReady();
      });
    } catch (failure) {
      throw new Error(`${(failure as Error).message}\n${this.#lastWords()}`);
    }
    if (over) throw new Error(`it ended before it was ready:\n${this.#lastWords()}`);
  }

  #lastWords(): string {
    const lines = this.output.split('\n').filter((line) => !line.includes('"msg":"request"'));
    return lines.join('\n').slice(-3_000);
  }

  /** Runs npm to its end. */
  run(...args: string[]): Promise<{ code: number | null; output: string }> {
    return this.#runToEnd('npm', args);
  }

  /** Runs a command of package.json to its end, without npm, which takes as long as the command. */
  command(name: string, ...args: string[]): Promise<{ code: number | null; output: string }> {
    return this.#runToEnd('command', [name, ...args]);
  }

  async #runToEnd(way: Way, args: readonly string[]) {
    const child = this.launch(way, ...args);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: string) => (output += text));
    const code = await ended(child);
    return { code, output };
  }

  processes(...kinds: ProcessKind[]): FoundProcess[] {
    const found = processesNaming([this.folder, ...this.#instanceId()]);
    return kinds.length === 0 ? found : found.filter(({ kind }) => kinds.includes(kind));
  }

  /** Waits for a process of this kind. */
  async process(kind: ProcessKind): Promise<FoundProcess> {
    return waitUntil(`a process of the kind ${kind}`, 120, () => this.processes(kind)[0]);
  }

  /** Sends SIGKILL to one process and waits for its end. */
  async kill(pid: number): Promise<void> {
    signal(pid, 'SIGKILL');
    await waitUntil(`the end of ${pid}`, 120, () => !isAlive(pid));
  }

  /** Sends SIGINT to the whole group, as a terminal does on Ctrl-C. */
  async interrupt(child: ChildProcess): Promise<number | null> {
    process.kill(-pidOf(child), 'SIGINT');
    return ended(child).catch((failure) => {
      const left = this.processes().map(({ kind, pid, parent }) => `${kind} ${pid}, child of ${parent}`);
      throw new Error(`${(failure as Error).message}\nstill there: ${left.join('; ')}\n${this.#lastWords()}`);
    });
  }

  /** The number of lines of the output that contain a text. */
  countLines(text: string): number {
    return this.output.split('\n').filter((line) => line.includes(text)).length;
  }

  /** Waits for a number of lines that contain a text. */
  async lines(text: string, count: number): Promise<void> {
    await waitUntil(`${count} lines with ${text}`, 120, () => this.countLines(text) >= count);
  }

  /** Waits until no process is left: the last ones end a moment after the one that was waited for. */
  async gone(): Promise<void> {
    await waitUntil('the end of all processes', 60, () => this.processes().length === 0).catch(() =>
      assert.deepEqual(this.processes(), []),
    );
  }

  /** Folders that may contain secrets only in the credential file and the master key. */
  keptFolders(): string[] {
    return [this.dataDirectory, ...this.#instanceId().map((id) => `/var/lib/headgate/${id}`)];
  }

  /** Kills all remaining processes by pid, and removes all folders. */
  async remove(): Promise<void> {
    for (let round = 0; round < 200; round++) {
      const left = this.processes();
      if (left.length === 0) break;
      for (const { pid } of left) signal(pid, 'SIGKILL');
      await delay(25);
    }
    for (const folder of [...this.keptFolders(), this.folder, fileOfPort(this.port)]) {
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    }
  }

  #instanceId(): string[] {
    try {
      const id = readFileSync(join(this.dataDirectory, 'instance-id'), 'utf8').trim();
      return id === '' ? [] : [id];
    } catch {
      return [];
    }
  }
}

const programs: Record<Way, (args: readonly string[]) => [string, ...string[]]> = {
  npm: (args) => ['npm', ...(args.length === 0 ? ['start'] : args)],
  // Bundled by the test run, which Node.js loads in less than half of the time.
  node: () => [process.execPath, process.env.HEADGATE_TEST_SERVER ?? 'packages/server/src/main/server.ts'],
  command: (args) => [process.execPath, 'scripts/bootstrap.mjs', ...args],
};

export function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('it could not be started');
  return child.pid;
}

export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Waits for the exit code; null when a signal ended the process. @throws when it does not end */
export async function ended(child: ChildProcess): Promise<number | null> {
  await waitUntil(`the end of ${pidOf(child)} (${child.spawnargs.join(' ')})`, endSeconds, () =>
    hasEnded(child),
  );
  return child.exitCode;
}

/**
 * Below the range of ports for outgoing connections, and not where the agent's tests listen. An installation that is
 * stopped keeps its port: a file in the folder of the test run says that it is taken.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 6_000);
    if (!takePort(port)) continue;
    const probe = createServer();
    const free = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!free) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}

const fileOfPort = (port: number) => join(tmpdir(), `headgate-port-${port}`);

function takePort(port: number): boolean {
  try {
    closeSync(openSync(fileOfPort(port), 'wx'));
    return true;
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code !== 'EEXIST') throw failure;
    return false;
  }
}
