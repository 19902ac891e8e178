/**
 * The measured server: a separate process with a new data directory and embedded PostgreSQL, as operators
 * start it.
 */
import { spawn } from 'node:child_process';
import { chmodSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { loadConfig } from '../packages/server/src/main/config.ts';
import { decidePlacesFor } from '../packages/server/src/main/host/installation.ts';
import { isRoot } from '../packages/server/src/main/host/process-users.ts';

const bootstrap = fileURLToPath(new URL('../scripts/bootstrap.mjs', import.meta.url));
const readyWithinMilliseconds = 60_000;
const endWithinMilliseconds = 40_000;
const clientSecret = 'a-secret-of-the-benchmark';

/** A temporary folder that the users of PostgreSQL and of the agent may enter. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
  if (isRoot()) chmodSync(folder, 0o711);
  return folder;
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}

/** The environment without settings that affect the measurement. */
export function cleanEnvironment(settings: Record<string, string>): NodeJS.ProcessEnv {
  const retained = Object.entries(process.env).filter(
    ([name]) => !/^(HEADGATE_|DATABASE_URL$|PG[A-Z]+$|npm_)/i.test(name),
  );
  return { ...Object.fromEntries(retained), ...settings };
}

/** A free port below the range of outgoing connections. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const free = await new Promise<boolean>((resolve) => {
      const server = createServer();
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (free) return port;
  }
}

export interface MeasuredServer {
  pid: number;
  port: number;
  dataDirectory: string;
  connection: pg.ClientConfig;
  token: string;
  /** Sends a request to a path below /dpc/v1. @throws unless it succeeds */
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Record<string, unknown>>;
  stop(): Promise<void>;
}

export async function startServer(
  profileFolder?: string,
  settings: Record<string, string> = {},
): Promise<MeasuredServer> {
  const folder = temporaryFolder();
  const dataDirectory = join(folder, 'data');
  const port = await freePort();
  const output = openSync(join(folder, 'server.log'), 'a');
  const profiling: Record<string, string> =
    profileFolder === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profileFolder}` };
  // Like `npm start`, with the same options of Node.js.
  const child = spawn(process.execPath, [bootstrap, 'start'], {
    stdio: ['ignore', output, output],
    env: cleanEnvironment({
      ...profiling,
      HEADGATE_DATA_DIR: dataDirectory,
      HEADGATE_PORT: String(port),
      HEADGATE_LOCAL_AGENT: 'off',
      HEADGATE_EXAMPLE: 'off',
      HEADGATE_RATE_LIMIT: 'off',
      HEADGATE_CLIENT_ID: 'bench',
      HEADGATE_CLIENT_SECRET: clientSecret,
      ...settings,
    }),
  });
  closeSync(output);
  const end = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  async function stop(): Promise<void> {
    const late = setTimeout(() => child.kill('SIGKILL'), endWithinMilliseconds);
    child.kill('SIGINT');
    await end;
    clearTimeout(late);
    removeFolder(folder);
  }
  try {
    await untilReady(port, () => child.exitCode !== null);
    const token = await tokenFor(port, 'bench', clientSecret);
    const { postgres } = decidePlacesFor(
      loadConfig({ HEADGATE_DATA_DIR: dataDirectory, HEADGATE_LOCAL_AGENT: 'off' }),
    );
    const connection = { host: postgres?.socketDirectory ?? '', user: 'headgate', database: 'headgate' };
    return {
      pid: pidOfServer(dataDirectory),
      port,
      dataDirectory,
      connection,
      token,
      call: caller(port, token),
      stop,
    };
  } catch (failure) {
    console.error(readFileSync(join(folder, 'server.log'), 'utf8').slice(-2_000));
    await stop();
    throw failure;
  }
}

/** The pid of the server, a descendant of the started process. */
export function pidOfServer(dataDirectory: string): number {
  const { pid } = JSON.parse(readFileSync(join(dataDirectory, 'instance.lock'), 'utf8')) as { pid: number };
  return pid;
}

/** Waits until /readyz returns 200. */
export async function untilReady(port: number, over: () => boolean): Promise<void> {
  const until = performance.now() + readyWithinMilliseconds;
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.ok) return;
    if (over() || performance.now() > until) throw new Error('The server did not become ready.');
    await delay(10);
  }
}

export async function tokenFor(port: number, clientId: string, secret: string): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: secret,
  });
  const answer = await fetch(`http://127.0.0.1:${port}/oauth/dpc/token`, { method: 'POST', body });
  const granted = (await answer.json()) as { access_token?: string };
  if (granted.access_token === undefined) throw new Error(`No token: ${JSON.stringify(granted)}`);
  return granted.access_token;
}

function caller(port: number, token: string): MeasuredServer['call'] {
  return async (method, path, body, headers = {}) => {
    const isForm = body instanceof FormData;
    const type: Record<string, string> =
      body === undefined || isForm ? {} : { 'content-type': 'application/json' };
    const sent = isForm ? body : JSON.stringify(body);
    const answer = await fetch(`http://127.0.0.1:${port}/dpc/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...type, ...headers },
      ...(sent === undefined ? {} : { body: sent }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  };
}
