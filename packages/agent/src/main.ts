/** The entry point of the agent. It opens no port. It starts all parts and shuts them down in order. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { closeInheritedDescriptors } from '@headgate/contract/inherited-descriptors';
import { restartExitCode } from '@headgate/contract/without-schemas';
import { ArtifactCache } from './artifacts/artifact-cache.ts';
import { Certificates } from './certificates/certificates.ts';
import { type AgentConfig, ConfigError, loadConfig } from './config.ts';
import { openConfinement } from './confinement/confinement.ts';
import { createLazyConnectors } from './connectors/lazy-connectors.ts';
import { watchLoop } from './event-loop.ts';
import { createHandlers } from './handlers/registry.ts';
import { lockFolder } from './host/folder-lock.ts';
import { createFolders, makePrivateFolder } from './host/folders.ts';
import { followParent } from './host/parent.ts';
import { readOrMakePrivateFile } from './host/private-file.ts';
import { removeUnfinishedFiles } from './host/unfinished-files.ts';
import { createLineage } from './lineage/lineage.ts';
import { createLog, getReason, type Log, openLogOutput } from './log.ts';
import { prepareRunCode } from './pool/run-code.ts';
import { createRunPool, type RunPool } from './pool/run-pool.ts';
import { openScripts } from './scripts/scripts.ts';
import { createSecretReferences, readSecret } from './secrets/secret-references.ts';
import { TakenValues } from './secrets/taken-values.ts';
import { requireAgent } from './session/agent-identity.ts';
import { type ControlPlane, createControlPlane } from './session/control-plane.ts';
import { keepRemoving } from './session/deleted-environments.ts';
import { Session } from './session/session.ts';
import { realTime } from './time.ts';
import { createVaults } from './vaults/registry.ts';
import { endLeftSessions, listLeftSessions } from './warehouses/left-sessions.ts';
import type { RefusedCluster } from './warehouses/postgres/postgres-access.ts';
import { createWarehouses } from './warehouses/registry.ts';

/** How long to wait for the previous agent to end. More than its default shutdown time. */
const lockWaitMilliseconds = 30_000;
/** How long to wait for the secret on standard input. */
const secretWaitMilliseconds = 30_000;
/** How long to wait until tokens that were asked for are in their vault. */
const settleMilliseconds = 10_000;

/** A hanging log must not delay the exit. */
const logMilliseconds = 2_000;

/** Runs until it is stopped or restarted. Returns the exit code. */
async function main(config: AgentConfig, log: Log): Promise<number> {
  for (const warning of config.warnings) log.warn(warning);
  process.on('unhandledRejection', (failure) => {
    log.error('unhandled promise rejection; the agent continues', { reason: getReason(failure) });
  });
  const { serverUrl, clientId, clientSecret = '' } = config;
  const credential = { serverUrl, clientId, clientSecret };
  const stop = stopSignal();
  const stopping = stop.signal;
  let certificates: Certificates | undefined;
  const parent = config.endWithStdin ? followParent(stop) : undefined;
  if (parent !== undefined && config.clientSecret === undefined)
    credential.clientSecret = (await parent.waitForFirstSecret(secretWaitMilliseconds)).reveal();
  parent?.onSecret((secret) => {
    credential.clientSecret = secret.reveal();
    certificates?.renewSoon();
    log.info('client secret replaced');
  });
  const folders = createFolders(await ownFolder(config.folder));
  const lock = await lockFolder(folders.lock, lockWaitMilliseconds, stopping);
  const confinement = await openConfinement(log);
  const code = await prepareRunCode(folders.code);
  const settings = {
    folders,
    confinement,
    bounds: config.warehouse,
    concurrency: config.concurrency + config.shortConcurrency,
    log,
  };
  const refusedCluster: RefusedCluster & { serverUrl: string } = { serverUrl: config.serverUrl };
  const warehouses = createWarehouses(settings, config.egressAllow, refusedCluster);
  const watch = watchLoop(log);
  const lineage = createLineage();
  let runPool: RunPool | undefined;
  let end: 'stopped' | 'restart';
  try {
    await makePrivateFolder(folders.temporary);
    await removeUnfinishedFiles(folders);
    runPool = createRunPool({
      code,
      confinement,
      workFolder: folders.temporary,
      memoryMegabytes: config.runMemoryMegabytes,
      processMegabytes: config.runProcessMegabytes,
      log,
    });
    const controlPlane = noteCluster(
      requireAgent(config.agentId, createControlPlane(credential)),
      refusedCluster,
    );
    const limitBytes = config.artifactCacheMegabytes * 1024 * 1024;
    const artifacts = await ArtifactCache.open({ folders, limitBytes, source: controlPlane, log });
    const instanceId = await readOrMakePrivateFile(folders.instanceId, randomUUID);
    certificates = await Certificates.open({
      folder: folders.keys,
      instanceId,
      credential,
      keyType: config.certificateKey,
      request: controlPlane.certificate,
      log,
    });
    const takenValues = await TakenValues.open(folders.values);
    const vaults = createVaults(config.vaults, folders.vaults);
    const left = await listLeftSessions(folders.sessions);
    const { egressAllow: allow, machineRole } = config;
    const connectors = createLazyConnectors({ controlPlane, instanceId, vaults, allow, machineRole });
    const session = new Session({
      controlPlane,
      handlers: createHandlers({
        config,
        folders,
        artifacts,
        warehouses,
        runPool,
        scripts: openScripts({
          settings: config.scripts,
          confinement,
          hiddenFolder: folders.root,
          log,
        }),
        secretReferences: createSecretReferences({ controlPlane, instanceId, vaults }),
        certificates,
        takenValues,
        vaults,
        connectors,
        lineage,
        log,
      }),
      instanceId,
      agentVersion: agentVersion(),
      concurrency: config.concurrency,
      shortConcurrency: config.shortConcurrency,
      shutdownSeconds: config.shutdownSeconds,
      log,
    });
    log.info('agent started', { server: config.serverUrl, folder: folders.root, pid: process.pid });
    const endSession = () => void session.stop(String(stopping.reason));
    stopping.addEventListener('abort', endSession);
    if (stopping.aborted) endSession();
    const outcome = new AbortController();
    const working = AbortSignal.any([stopping, outcome.signal]);
    const renewing = certificates.run(working);
    void endLeftSessions(left, {
      drivers: warehouses,
      readSecret: (at) => readSecret(vaults, at, working),
      log,
    });
    const removing = keepRemoving({ controlPlane, folders, warehouses, log }, realTime.sleep, working);
    end = await session.run();
    outcome.abort();
    await Promise.all([renewing, removing]);
    await Promise.race([connectors.tokens.settle(), realTime.sleep(settleMilliseconds)]);
  } finally {
    await runPool?.close();
    await lineage.close();
    await warehouses.duckdb.close();
    await confinement.close();
    watch.stop();
    await lock.release();
  }
  log.info('agent ended', { end });
  return end === 'restart' ? restartExitCode : 0;
}

function noteCluster(controlPlane: ControlPlane, refused: RefusedCluster): ControlPlane {
  return {
    ...controlPlane,
    async hello(body, signal) {
      const welcome = await controlPlane.hello(body, signal);
      if (welcome.databaseCluster !== undefined) refused.systemIdentifier = welcome.databaseCluster;
      return welcome;
    },
  };
}

/** Creates the agent's folder if it is missing, and returns its real path. */
async function ownFolder(path: string): Promise<string> {
  return makePrivateFolder(path)
    .then((made) => realpath(made))
    .catch((failure: unknown) => {
      throw new Error(
        `HEADGATE_AGENT_DIR: the folder ${path} cannot be used (${getReason(failure)}). Set it to a folder that this user can write to.`,
      );
    });
}

/** Aborted by SIGINT or SIGTERM. A second signal ends the agent at once. */
function stopSignal(): AbortController {
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (stopping.signal.aborted) process.exit(1);
      stopping.abort(name);
    });
  }
  return stopping;
}

function agentVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return String(version);
}

const output = openLogOutput();

async function run(): Promise<number> {
  try {
    const config = loadConfig();
    // After the settings, which may name files by them.
    closeInheritedDescriptors();
    return await main(config, createLog({ level: config.logLevel, write: output.write }));
  } catch (error) {
    // Stopped while it waited for its folder.
    if (error instanceof Error && error.name === 'AbortError') return 0;
    const reasons = error instanceof ConfigError ? error.message.split('\n') : [getReason(error)];
    const log = createLog({ level: 'error', write: output.write });
    for (const reason of reasons) log.error(reason);
    return 1;
  }
}

const exitCode = await run();
// Node would wait at exit for a hanging write, such as one to a pipe that is not read.
if (!(await output.close(logMilliseconds))) process.kill(process.pid, 'SIGKILL');
process.exit(exitCode);
