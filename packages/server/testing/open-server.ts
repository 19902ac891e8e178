/**
 * The real server on its own database, for tests: the wiring of main, with a movable clock. Requests are
 * injected without a network, or sent over one after `listen`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { S3Patience } from '../src/delivery/blobs/object-store.ts';
import { createLog } from '../src/kernel/log.ts';
import type { Resolve } from '../src/kernel/security/egress.ts';
import { endForbiddenWork } from '../src/kernel/work/forbidden-work.ts';
import { sweepWork } from '../src/kernel/work/work-sweep.ts';
import { createApp } from '../src/main/app.ts';
import { type Config, loadConfig } from '../src/main/config.ts';
import { createDependencies, type Dependencies } from '../src/main/deps.ts';
import type { Certificate } from '../src/main/http/certificate.ts';
import { sweepAgents } from '../src/runtime/agent-link/agent-sweep.ts';
import type { Tool } from '../src/runtime/ai-tools/index.ts';
import { type Account, createAccount } from './account.ts';
import type { Transport } from './client.ts';
import { createMovableClock, type MovableClock } from './clock.ts';
import type { TestDatabase } from './database.ts';

export interface TestServer {
  deps: Dependencies;
  database: TestDatabase;
  clock: MovableClock;
  /** The initial time of its clock. */
  startedAt: Date;
  /** The log lines so far. */
  logLines: readonly string[];
  transport: Transport;
  /** Creates an account, which sees nothing of other tests. */
  account(): Promise<Account>;
  /** Handles due work and agents until there are none; the server does this every second. */
  sweep(): Promise<void>;
  /** Listens on loopback, at a free port by default, and returns the address. */
  listen(port?: number): Promise<string>;
  app: FastifyInstance;
  close(): Promise<void>;
}

export interface TestServerOptions {
  /** Settings in the operator's form. */
  settings?: Record<string, string>;
  config?: Partial<Config>;
  /** The initial time of its clock; default the real time. */
  startsAt?: Date;
  /** Serves HTTPS with this certificate. */
  certificate?: Certificate;
  /** Timeouts for a bucket that does not respond. */
  patience?: S3Patience;
  /** Resolves the names of hosts that tenants set; by default, example.com has a public address. */
  resolve?: Resolve;
  /** The tools of AI tasks. */
  aiTools?: readonly Tool[];
}

/** Opens a server on a database. The caller must close it. */
export async function openTestServer(
  database: TestDatabase,
  options: TestServerOptions = {},
): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-test-'));
  const clock = createMovableClock(options.startsAt);
  const startedAt = clock.now();
  const logLines: string[] = [];
  const log = createLog('trace', { write: (line) => void logLines.push(line) });
  const settings = {
    HEADGATE_DATA_DIR: folder,
    HEADGATE_RATE_LIMIT: 'off',
    HEADGATE_DATABASE_CONNECTIONS: '10',
    HEADGATE_MASTER_KEY: masterKey,
    ...options.settings,
  };
  const config = { ...loadConfig(settings), ...patientConfig, ...options.config };
  if (options.patience !== undefined && config.objects.kind === 's3')
    config.objects = { ...config.objects, patience: options.patience };
  const stopping = new AbortController();
  const deps = await createDependencies(config, {
    connection: database.connection,
    log,
    stopping: stopping.signal,
    clock,
    resolve: options.resolve ?? resolveExamples,
    ...(options.aiTools === undefined ? {} : { aiTools: options.aiTools }),
  });
  const app = createApp(deps, options.certificate);
  await app.ready();
  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    stopping.abort();
    await app.close();
    await deps.close();
    await rm(folder, { recursive: true, force: true });
  }

  const server: TestServer = {
    deps,
    database,
    clock,
    startedAt,
    logLines,
    async transport({ method, url, headers, body }) {
      const response = await app.inject({
        method: method as 'GET',
        url,
        headers,
        ...(body === undefined ? {} : { payload: body }),
      });
      const received = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
      const text = response.body;
      return { method, url, status: response.statusCode, headers: Object.fromEntries(received), text };
    },
    account: () => createAccount(server),
    async sweep() {
      let swept: Awaited<ReturnType<typeof sweepWork>>;
      do swept = await sweepWork(deps, deps.owners, deps.times, clock.now());
      while (swept.moved > 0 || swept.isMore);
      while (await endForbiddenWork(deps, deps.owners, clock.now()));
      while (await sweepAgents(deps, clock.now()));
    },
    app,
    listen: (port = 0) => app.listen({ host: '127.0.0.1', port }),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
  return server;
}

/**
 * A busy machine may be slow. A claim waits as long as it asks to, so that it is woken before it ends; requests
 * wait longer for a connection, and the alerts of an account may take longer.
 */
const patientConfig: Partial<Config> = {
  claimWaitSeconds: 25,
  databaseWaitMilliseconds: 120_000,
  alertTurnMilliseconds: 60_000,
};

/** One key for all servers of a run, so that servers of one file can read each other's signing keys. */
const masterKey = Buffer.alloc(32, 'headgate tests').toString('base64');

/** Without a name server. */
const resolveExamples: Resolve = async (host) => {
  if (host === 'localhost') return ['127.0.0.1'];
  if (/(^|\.)example\.com$/.test(host)) return ['93.184.215.14'];
  throw new Error(`the tests know no host ${host}`);
};
