/**
 * Runs one pipeline: its artifacts from the cache, a connection to its warehouse, and a process of its own.
 */
import type { WorkOf } from '@headgate/contract';
import type { ArtifactCache } from '../artifacts/artifact-cache.ts';
import type { AgentConfig } from '../config.ts';
import type { Confinement } from '../confinement/confinement.ts';
import { type RunOptions, runInProcess } from '../engine/run-process.ts';
import { type Folders, makePrivateFolder } from '../host/folders.ts';
import type { Log } from '../log.ts';
import { Masking } from '../secrets/masking.ts';
import type { SecretReferences } from '../secrets/secret-references.ts';
import type { Outcome } from '../session/outbox.ts';
import { createUnusableWarehouse } from '../warehouses/registry.ts';
import type { WarehouseDriver, WarehouseKind } from '../warehouses/warehouse.ts';
import { acquireArtifacts } from './acquired-artifacts.ts';
import type { Handler, WorkContext } from './handler.ts';

export interface PipelineExecutionDependencies {
  config: Pick<AgentConfig, 'runTimeLimitSeconds' | 'runMemoryMegabytes' | 'runProcessMegabytes'>;
  confinement: Confinement;
  folders: Folders;
  artifacts: ArtifactCache;
  warehouses: Record<WarehouseKind, WarehouseDriver>;
  secretReferences: SecretReferences;
  log: Log;
}

/** setTimeout's own limit: 24 days. */
const timerLimitMilliseconds = 2 ** 31 - 1;

export function createPipelineExecutionHandler(
  dependencies: PipelineExecutionDependencies,
): Handler<'pipeline-execution'> {
  return async (work, context) => {
    const seconds = Math.min(work.payload.timeLimitSeconds, dependencies.config.runTimeLimitSeconds);
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), Math.min(seconds * 1_000, timerLimitMilliseconds));
    const kill = AbortSignal.any([context.kill, limit.signal]);
    try {
      return await run(work, { ...context, kill }, dependencies);
    } catch (error) {
      if (!limit.signal.aborted) throw error;
      return {
        status: 'FAILED',
        message: `the run did not end within its time limit of ${seconds} s and was ended; its running step may have had effects`,
      };
    } finally {
      clearTimeout(timer);
    }
  };
}

async function run(
  work: WorkOf<'pipeline-execution'>,
  context: WorkContext,
  dependencies: PipelineExecutionDependencies,
): Promise<Outcome> {
  const { payload } = work;
  const { folders, artifacts, warehouses, config, confinement, log } = dependencies;
  const place = { projectId: payload.projectId, environmentName: payload.environmentName };
  const before = AbortSignal.any([context.kill, context.cancel]);
  const held = await acquireArtifacts(artifacts, payload, before).catch((error) => {
    if (context.cancel.aborted && !context.kill.aborted) return undefined;
    throw error;
  });
  if (!held) return { status: 'CANCELLED' };
  try {
    const filesFolder = await makePrivateFolder(folders.files(place));
    const { kind } = payload.warehouse;
    const warehouse = await (kind === 'duckdb'
      ? warehouses[kind].connect(place)
      : createUnusableWarehouse(kind));
    // The interrupt must not wait for the process: its statement runs in another one.
    const interrupt = () => void warehouse.close();
    context.kill.addEventListener('abort', interrupt);
    try {
      context.kill.throwIfAborted();
      if (context.cancel.aborted) return { status: 'CANCELLED' };
      await context.reportStarted();
      return await runInProcess({
        request: {
          pipelineExecutionId: payload.pipelineExecutionId,
          ...place,
          pipelineName: payload.pipelineName,
          versionName: payload.versionName,
          warehouse: kind.toUpperCase(),
          variables: payload.variables,
          scalarVariables: payload.scalarVariables,
          gridVariables: payload.gridVariables,
        },
        artifact: held.artifact,
        shared: held.shared,
        filesFolder,
        workFolder: folders.temporary,
        memoryMegabytes: config.runMemoryMegabytes,
        processMegabytes: config.runProcessMegabytes,
        confinement,
        warehouse,
        ...createSecretOptions(work, context, dependencies),
        cancel: context.cancel,
        kill: context.kill,
        onStep: context.step,
        // What a pipeline prints is its users' and may hold what they keep secret: it goes with the step, not
        // into this log.
        onLine: (line) => log.debug('run', { workId: work.workId, characters: line.length }),
      });
    } finally {
      context.kill.removeEventListener('abort', interrupt);
      await warehouse.close();
    }
  } finally {
    held.release();
  }
}

/** What it reads for the run is masked in the run's reports, too. */
function createSecretOptions(
  work: WorkOf<'pipeline-execution'>,
  context: WorkContext,
  { secretReferences, log }: PipelineExecutionDependencies,
): Pick<RunOptions, 'readSecret' | 'conceal'> {
  const masking = new Masking();
  return {
    async readSecret(name) {
      const secret = await secretReferences.read(work, name, context.kill);
      log.info('a secret is read for a run', { workId: work.workId, secretReference: name });
      masking.add(secret);
      context.conceal((text) => masking.mask(text));
      return secret;
    },
    conceal: (text) => masking.conceal(text),
  };
}
