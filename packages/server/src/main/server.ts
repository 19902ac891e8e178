/** The entry point of the server: starts everything in order, and stops it in reverse order. */
import type { Server as HttpsServer } from 'node:https';
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { closeInheritedDescriptors } from '@headgate/contract/inherited-descriptors';
import { hasEnabledIssuer } from '../access/identity-issuers/index.ts';
import { createOperatorLink, isSignInAddress } from '../access/sign-in/index.ts';
import { systemClock } from '../kernel/clock.ts';
import { migrate } from '../kernel/database/migrate.ts';
import { watchLoop } from '../kernel/event-loop.ts';
import { createFailureLog, type FailureLog } from '../kernel/failure-log.ts';
import type { UncaughtCounts } from '../kernel/metrics.ts';
import { isLoopbackHost } from '../kernel/security/loopback-host.ts';
import { createApp } from './app.ts';
import { renderBanner } from './banner.ts';
import { type Config, loadConfig } from './config.ts';
import { createDependencies, type Dependencies } from './deps.ts';
import { publishExample } from './example.ts';
import { type Ending, endOnSignals } from './host/ending.ts';
import { decidePlacesFor, explainDatabase, startDatabase } from './host/installation.ts';
import { takeInstanceLock } from './host/instance-lock.ts';
import { type LogOutput, openLogOutput } from './host/log-output.ts';
import type { Places } from './host/places.ts';
import { checkArguments, checkFiles, checkPort, explainListen, StartError } from './host/startup-checks.ts';
import { catchUncaught, withOrigin } from './host/uncaught.ts';
import { followCertificate, readCertificate } from './http/certificate.ts';
import { listenOnLoopback } from './http/loopback-listener.ts';
import { createUnreadBodies } from './http/unread-bodies.ts';
import { type LocalAgent, startLocalAgent } from './local-agent/local-agent.ts';
import { followSecret } from './local-agent/local-agent-secret.ts';
import {
  ensureFirstAccount,
  ensureGeneratedCredential,
  ensureGivenCredential,
  ensureLocalAgent,
  getCredentialFile,
} from './provisioning.ts';
import { startSweeper } from './sweeper.ts';

async function main(): Promise<void> {
  checkArguments(process.argv.slice(2));
  const config = loadConfig();
  // After the settings, which may name files by them.
  closeInheritedDescriptors();
  for (const warning of config.warnings) console.error(warning);
  await checkFiles(config);
  const places = decidePlacesFor(config);
  const output = openLogOutput(config);
  const { log } = output;
  for (const warning of config.warnings) log.warn(warning);
  const stopping = new AbortController();
  const endings: Ending[] = [];
  const failures = createFailureLog(log, systemClock);
  const uncaught = catchUncaught(failures, (failure) => {
    log.fatal({ err: failure }, 'uncaught exception; the server stops');
    console.error(`headgate: uncaught exception; the server stops: ${getMessage(failure)}`);
    void end(1);
  });
  const starting = startWithLock(config, places, { output, failures, uncaught }, stopping.signal, endings);
  const end = endOnSignals({ stopping, starting, endings, output });
  try {
    await starting;
  } catch (failure) {
    // A signal during the start stops what was started; that is not a failure.
    if (stopping.signal.aborted) return;
    const about = failure instanceof StartError ? { reason: failure.message } : { err: failure };
    log.error(about, 'the server failed to start');
    console.error(getMessage(failure));
    await end(1);
  }
}

/** Where the start reports to. */
interface Reporting {
  output: LogOutput;
  failures: FailureLog;
  uncaught: UncaughtCounts;
}

async function startWithLock(
  config: Config,
  places: Places,
  reporting: Reporting,
  stopping: AbortSignal,
  endings: Ending[],
): Promise<void> {
  const lock = await takeInstanceLock(places.dataDirectory, stopping);
  endings.push(['the instance lock', () => lock.release()]);
  stopping.addEventListener('abort', () => {
    try {
      lock.stopping();
    } catch (failure) {
      // For example because the disk is full. The next start then only waits for a shorter time.
      reporting.output.log.warn({ err: failure }, 'failed to mark the instance lock as stopping');
    }
  });
  // With the lock held, the previous server on this data directory has released its port.
  await checkPort(config);
  await start(config, places, reporting, stopping, endings);
  lock.announce(config.publicUrl);
}

async function start(
  config: Config,
  places: Places,
  { output, failures, uncaught }: Reporting,
  stopping: AbortSignal,
  endings: Ending[],
): Promise<void> {
  const { log } = output;
  const opened = await startDatabase(config, places, log, stopping);
  if (opened.postgres !== undefined) endings.push(['PostgreSQL', () => opened.postgres?.stop()]);
  const applied = await migrate(opened.connection).catch((failure: unknown) => {
    throw explainDatabase(config, failure);
  });
  if (applied.length > 0) log.info({ applied }, 'the database was migrated');
  const reporting = { failures, uncaught, lostLines: output.lostLines };
  const { connection } = opened;
  const deps = await createDependencies(config, {
    connection,
    log,
    reporting,
    stopping,
    ...(places.git === undefined ? {} : { gitPlaces: places.git }),
  });
  endings.push(['the database connections', () => deps.close()]);
  const { accountId, credential, file, isNew } = await ensureCredential(deps, places);

  stopping.throwIfAborted();
  const localUrl = await withOrigin('requests', () => serve(deps, endings));
  const sweeper = withOrigin('periodic jobs', () => startSweeper(deps));
  endings.push(['the sweeper', () => sweeper.stop()]);
  stopping.throwIfAborted();
  const agent = await launchLocalAgent(deps, places, accountId, localUrl);
  if (agent !== undefined) endings.push(['the local agent', () => agent.stop()]);

  const showsSecret = isNew && process.stdout.isTTY;
  const locations = [...places.locations, `log: ${output.place}`];
  const signInLink = await findSignInLink(deps, accountId);
  console.log(renderBanner(config, { credential, file, showsSecret, signInLink, locations }));
  log.info({ url: config.publicUrl, version: deps.version }, 'ready');
  if (!isSignInAddress(new URL(config.publicUrl)))
    log.warn(
      { publicUrl: config.publicUrl },
      'people cannot sign in at the public address: browsers keep a session only over HTTPS or on localhost; set HEADGATE_PUBLIC_URL to the https address of the server',
    );
  const watch = watchLoop((gap) => {
    deps.metrics.observeLoopGap(gap.operation, gap.milliseconds / 1_000);
    log.warn(gap, 'the event loop was blocked');
  });
  endings.push(['the watch of the event loop', () => watch.stop()]);
  if (config.example && agent !== undefined) {
    publishExample(deps, credential, localUrl).then(
      (line) => line && console.log(line),
      (failure: unknown) => {
        if (!stopping.aborted) log.warn({ err: failure }, 'failed to publish the example project');
      },
    );
  }
}

/** For an installation on this machine whose people have no other way to sign in. */
async function findSignInLink(deps: Dependencies, accountId: string): Promise<string | undefined> {
  const { config, database } = deps;
  if (config.tls !== undefined || !isLoopbackHost(new URL(config.publicUrl).hostname)) return undefined;
  if (await hasEnabledIssuer(database.read, accountId)) return undefined;
  return createOperatorLink(deps, accountId, config);
}

/** Starts the HTTP server. Returns the address for processes of this machine. */
async function serve(deps: Dependencies, endings: Ending[]): Promise<string> {
  const { config, log } = deps;
  const certificate = config.tls && readCertificate(config.tls);
  const unreadBodies = createUnreadBodies(deps.stopping);
  const app = createApp(deps, certificate, unreadBodies);
  await app.listen({ host: config.host, port: config.port }).catch((failure: unknown) => {
    throw explainListen(config, failure);
  });
  endings.push(['the HTTP server', () => app.close()]);
  if (config.tls !== undefined && certificate !== undefined) {
    if (certificate.expiresAt <= deps.clock.now())
      log.warn({ expiresAt: certificate.expiresAt }, 'the TLS certificate has expired');
    const following = followCertificate(app.server as unknown as HttpsServer, config.tls, certificate, log);
    endings.push(['the TLS certificate', () => following.stop()]);
  }
  if (config.localUrl !== undefined) return config.localUrl;
  const local = await listenOnLoopback(app, unreadBodies);
  endings.push(['the loopback listener', () => local.close()]);
  return local.url;
}

async function ensureCredential(deps: Dependencies, places: Places) {
  const accountId = await ensureFirstAccount(deps);
  const configured = deps.config.credential;
  if (configured !== undefined) {
    await ensureGivenCredential(deps, accountId, configured);
    return { accountId, credential: configured, file: undefined, isNew: false };
  }
  const credential = await ensureGeneratedCredential(deps, accountId, places.dataDirectory);
  return { accountId, credential, file: getCredentialFile(places.dataDirectory), isNew: credential.isNew };
}

async function launchLocalAgent(
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
      ...shareCompileCache(),
      ...deps.config.agentSettings,
      HEADGATE_SERVER_URL: localUrl,
      // The connection stays on this machine.
      HEADGATE_AGENT_ALLOW_HTTP: 'yes',
      HEADGATE_AGENT_CLIENT_ID: clientId,
      HEADGATE_AGENT_DIR: places.agent.directory,
    },
    secret,
  });
  // Ends when the server stops.
  void followSecret(deps, { accountId, agentId, generation }, (newer) => agent.giveSecret(newer));
  return agent;
}

/** Loading the agent takes half of the time if its code is compiled. Node.js keeps a folder for each user there. */
function shareCompileCache(): Record<string, string> {
  const own = getCompileCacheDir();
  return own === undefined ? {} : { NODE_COMPILE_CACHE: dirname(own) };
}

function getMessage(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure);
}

await main().catch((failure: unknown) => {
  console.error(getMessage(failure));
  process.exit(1);
});
