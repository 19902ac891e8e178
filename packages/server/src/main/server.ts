/** The entry of the server: starts everything in order, and ends it in order. */
import type { Server as HttpsServer } from 'node:https';
import { join } from 'node:path';
import { createLog, type Log } from '../kernel/log.ts';
import { migrate } from '../kernel/migrate.ts';
import { createApp } from './app.ts';
import { banner } from './banner.ts';
import { boundedLogFile } from './bounded-log-file.ts';
import { letCollectorYield } from './collector-priority.ts';
import { type Config, loadConfig } from './config.ts';
import { createDependencies, type Dependencies } from './deps.ts';
import { publishExample } from './example.ts';
import { limitHeapGrowth } from './heap-growth.ts';
import { followCertificate, readCertificate } from './http/certificate.ts';
import { listenOnLoopback } from './http/loopback-listener.ts';
import { explainDatabase, placesOf, startDatabase } from './installation.ts';
import { takeInstanceLock } from './instance-lock.ts';
import { type LocalAgent, startLocalAgent } from './local-agent.ts';
import { followSecret } from './local-agent-secret.ts';
import type { Places } from './places.ts';
import {
  credentialFile,
  ensureFirstAccount,
  ensureGeneratedCredential,
  ensureGivenCredential,
  ensureLocalAgent,
} from './provisioning.ts';
import { startSweeper } from './sweeper.ts';

/** Each phase of the shutdown is given up after this. */
const phaseMilliseconds = 25_000;
const logFileBytes = 50 * 1_048_576;

type Ending = [name: string, end: () => Promise<unknown> | unknown];

async function main(): Promise<void> {
  const config = loadConfig();
  const places = placesOf(config);
  const { log, logPlace } = openLog(config);
  const stopping = new AbortController();
  const endings: Ending[] = [['the log', () => log.flushNow()]];
  const starting = begin(config, places, { log, logPlace }, stopping.signal, endings);
  const end = endInOrder(stopping, starting, endings, log);
  try {
    await starting;
    letCollectorYield();
    limitHeapGrowth();
  } catch (failure) {
    // A signal in the middle of the start ends what was started, and is no failure.
    if (stopping.signal.aborted) return;
    log.error({ err: failure }, 'the server could not start');
    console.error(failure instanceof Error ? failure.message : failure);
    await end(1);
  }
}

async function begin(
  config: Config,
  places: Places,
  logs: { log: Log; logPlace: string },
  stopping: AbortSignal,
  endings: Ending[],
): Promise<void> {
  const lock = await takeInstanceLock(places.dataDirectory, stopping);
  endings.push(['the instance lock', () => lock.release()]);
  stopping.addEventListener('abort', () => lock.stopping());
  await start(config, places, logs, stopping, endings);
  lock.announce(config.publicUrl);
}

async function start(
  config: Config,
  places: Places,
  { log, logPlace }: { log: Log; logPlace: string },
  stopping: AbortSignal,
  endings: Ending[],
): Promise<void> {
  const opened = await startDatabase(config, places, log, stopping);
  if (opened.postgres !== undefined) endings.push(['PostgreSQL', () => opened.postgres?.stop()]);
  const applied = await migrate(opened.connection).catch((failure: unknown) => {
    throw explainDatabase(config, failure);
  });
  if (applied.length > 0) log.info({ applied }, 'the database was migrated');
  const deps = await createDependencies(config, { connection: opened.connection, log, stopping });
  endings.push(['the database connections', () => deps.close()]);
  const { accountId, credential, file, isNew } = await firstCredential(deps, places);

  stopping.throwIfAborted();
  const localUrl = await serve(deps, endings);
  const sweeper = startSweeper(deps);
  endings.push(['the sweeper', () => sweeper.stop()]);
  stopping.throwIfAborted();
  const agent = await localAgent(deps, places, accountId, localUrl);
  if (agent !== undefined) endings.push(['the local agent', () => agent.stop()]);

  const showsSecret = isNew && process.stdout.isTTY;
  const kept = [...places.kept, `log: ${logPlace}`];
  console.log(banner(config, { credential, file, showsSecret, kept }));
  log.info({ url: config.publicUrl, version: deps.version }, 'ready');
  if (config.example && agent !== undefined) {
    publishExample(deps, credential, localUrl).then(
      (line) => line && console.log(line),
      (failure: unknown) => {
        if (!stopping.aborted) log.warn({ err: failure }, 'the example could not be published');
      },
    );
  }
}

/** Answers from now on; the address for this machine's own use. */
async function serve(deps: Dependencies, endings: Ending[]): Promise<string> {
  const { config, log } = deps;
  const certificate = config.tls && readCertificate(config.tls);
  const app = createApp(deps, certificate);
  await app.listen({ host: config.host, port: config.port });
  endings.push(['the HTTP server', () => app.close()]);
  if (config.tls !== undefined && certificate !== undefined) {
    if (certificate.expiresAt <= deps.clock.now())
      log.warn({ expiresAt: certificate.expiresAt }, 'the TLS certificate has expired');
    const following = followCertificate(app.server as unknown as HttpsServer, config.tls, certificate, log);
    endings.push(['the TLS certificate', () => following.stop()]);
  }
  if (config.localUrl !== undefined) return config.localUrl;
  const local = await listenOnLoopback(app);
  endings.push(['the listener for this machine', () => local.close()]);
  return local.url;
}

async function firstCredential(deps: Dependencies, places: Places) {
  const accountId = await ensureFirstAccount(deps);
  const given = deps.config.credential;
  if (given !== undefined) {
    await ensureGivenCredential(deps, accountId, given);
    return { accountId, credential: given, file: undefined, isNew: false };
  }
  const credential = await ensureGeneratedCredential(deps, accountId, places.dataDirectory);
  return { accountId, credential, file: credentialFile(places.dataDirectory), isNew: credential.isNew };
}

async function localAgent(
  deps: Dependencies,
  places: Places,
  accountId: string,
  localUrl: string,
): Promise<LocalAgent | undefined> {
  if (places.agent === undefined) return undefined;
  const { agentId, clientId, secret, generation } = await ensureLocalAgent(deps, accountId);
  const agent = startLocalAgent({
    node: places.agent.node,
    entry: places.agent.entry,
    cwd: places.agent.directory,
    user: places.agent.user,
    log: deps.log,
    env: {
      ...deps.config.agentSettings,
      HEADGATE_SERVER_URL: localUrl,
      // Its own server's address never leaves this machine, whichever it is.
      HEADGATE_AGENT_ALLOW_HTTP: 'yes',
      HEADGATE_AGENT_CLIENT_ID: clientId,
      HEADGATE_AGENT_DIR: places.agent.directory,
    },
    secret,
  });
  // Ends by itself when the server stops.
  void followSecret(deps, { accountId, agentId, generation }, (newer) => agent.giveSecret(newer));
  return agent;
}

/** On a terminal people read the banner, and the log goes to a file; elsewhere it goes to standard output, for whoever collects it. */
function openLog(config: Config): { log: Log & { flushNow(): void }; logPlace: string } {
  const file =
    config.logFile ?? (process.stdout.isTTY ? join(config.dataDirectory, 'server.log') : undefined);
  if (file === undefined) return { log: createLog(config.logLevel), logPlace: 'standard output' };
  const bounded = boundedLogFile(file, logFileBytes);
  return { log: createLog(config.logLevel, { write: (line) => bounded.append(line) }), logPlace: file };
}

/** Ends what was started in the reverse order, each phase within its bound; a second signal ends the process at once. */
function endInOrder(
  stopping: AbortController,
  starting: Promise<void>,
  endings: Ending[],
  log: Log,
): (code: number) => Promise<void> {
  let begun = false;

  async function bounded(name: string, phase: () => Promise<unknown> | unknown): Promise<void> {
    const late = setTimeout(() => {
      log.error({ phase: name }, 'the shutdown takes too long and is given up');
      process.exit(1);
    }, phaseMilliseconds);
    try {
      await phase();
    } catch (failure) {
      log.error({ err: failure, phase: name }, 'a part could not be ended');
    }
    clearTimeout(late);
  }

  async function end(code: number): Promise<void> {
    if (begun) process.exit(130);
    begun = true;
    stopping.abort();
    // What is being started is waited for: it could not be ended otherwise.
    await bounded('the start', () => starting.catch(() => undefined));
    for (const [name, close] of endings.toReversed()) await bounded(name, close);
    process.exit(code);
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void end(0));
  return end;
}

await main().catch((failure: unknown) => {
  console.error(failure instanceof Error ? failure.message : failure);
  process.exit(1);
});
