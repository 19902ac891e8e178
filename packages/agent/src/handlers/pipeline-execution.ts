/** Runs one pipeline in its own process, with artifacts from the cache and a connection to its warehouse. */
import type { WorkOf } from '@headgate/contract';
import type { ArtifactCache } from '../artifacts/artifact-cache.ts';
import { describeCancellation, getCanceller } from '../cancellation.ts';
import type { AgentConfig } from '../config.ts';
import type { Confinement } from '../confinement/confinement.ts';
import { type RunOptions, runInProcess } from '../engine/run-process.ts';
import { type Folders, makePrivateFolder } from '../host/folders.ts';
import type { Log } from '../log.ts';
import type { Scripts } from '../scripts/scripts.ts';
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
  scripts: Scripts;
  log: Log;
}

/** The limit of setTimeout, about 24 days. */
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
        message: `the run exceeded its time limit of ${seconds} s and was killed; the running step may have had effects`,
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
  const { folders, artifacts, warehouses, config, confinement, scripts } = dependencies;
  const place = { projectId: payload.projectId, environmentName: payload.environmentName };
  const before = AbortSignal.any([context.kill, context.cancel]);
  const held = await acquireArtifacts(artifacts, payload, before).catch((error) => {
    if (context.cancel.aborted && !context.kill.aborted) return undefined;
    throw error;
  });
  if (!held) return createCancelledOutcome(context);
  try {
    const filesFolder = await makePrivateFolder(folders.files(place));
    const { kind } = payload.warehouse;
    const warehouse = await (kind === 'duckdb'
      ? warehouses[kind].connect(place)
      : createUnusableWarehouse(kind));
    // The statement runs in the warehouse's process, so it is interrupted without waiting for the run's
    // process.
    const interrupt = () => void warehouse.close();
    context.kill.addEventListener('abort', interrupt);
    try {
      context.kill.throwIfAborted();
      if (context.cancel.aborted) return createCancelledOutcome(context);
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
        runScript: (job, events, kill) => scripts.run(job, place, events, kill),
        ...createSecretOptions(work, context, dependencies),
        cancel: context.cancel,
        kill: context.kill,
        onStep: context.step,
        // Printed lines may be confidential: they go to the run's log and not to the agent's.
        onLine: (text, { step: stepId, stream }, timestamp) =>
          context.line({ stepId, stream, timestamp, text }),
        onVariables: context.variables,
      });
    } finally {
      context.kill.removeEventListener('abort', interrupt);
      await warehouse.close();
    }
  } finally {
    held.release();
  }
}

function createCancelledOutcome({ cancel }: WorkContext): Outcome {
  return { status: 'CANCELLED', message: `${describeCancellation(getCanceller(cancel))} before it started` };
}

/** Secrets that are read for the run are also masked in its reports. */
function createSecretOptions(
  work: WorkOf<'pipeline-execution'>,
  context: WorkContext,
  { secretReferences, log }: PipelineExecutionDependencies,
): Pick<RunOptions, 'readSecret' | 'conceal'> {
  const masking = new Masking();
  return {
    async readSecret(name) {
      const secret = await secretReferences.read(work, name, context.kill);
      log.info('secret read for a run', { workId: work.workId, secretReference: name });
      masking.add(secret);
      context.conceal((text) => masking.mask(text));
      return secret;
    },
    conceal: (text) => masking.conceal(text),
  };
}
