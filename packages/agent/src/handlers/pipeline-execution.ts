/** Runs one pipeline in its own process, with artifacts from the cache and a connection to its warehouse. */
import { randomUUID } from 'node:crypto';
import type { WorkOf } from '@headgate/contract';
import type { ArtifactCache } from '../artifacts/artifact-cache.ts';
import { describeCancellation, getCanceller } from '../cancellation.ts';
import type { AgentConfig } from '../config.ts';
import type { Connectors } from '../connectors/connectors.ts';
import { followSignals } from '../followed-signals.ts';
import { type Folders, makePrivateFolder } from '../host/folders.ts';
import type { Log } from '../log.ts';
import type { RunPool } from '../pool/run-pool.ts';
import type { Scripts } from '../scripts/scripts.ts';
import type { SecretReferences } from '../secrets/secret-references.ts';
import type { Outcome } from '../session/outbox.ts';
import type { Warehouses } from '../warehouses/warehouse.ts';
import { acquireArtifacts } from './acquired-artifacts.ts';
import type { Handler, WorkContext } from './handler.ts';
import { createSecretOptions } from './run-secret-options.ts';
import { createRunSessions } from './run-sessions.ts';
import { openScratchConnection } from './scratch-connection.ts';
import { readSqlRules } from './sql-rules.ts';
import { createSwitchingWarehouse } from './switching-warehouse.ts';
import { limitTime } from './time-limit.ts';
import { describeTestRefusal, describeWarehouse, openWorkWarehouse } from './work-warehouse.ts';

export interface PipelineExecutionDependencies {
  config: Pick<AgentConfig, 'runTimeLimitSeconds'>;
  runPool: RunPool;
  folders: Folders;
  artifacts: ArtifactCache;
  warehouses: Warehouses;
  secretReferences: SecretReferences;
  connectors: Connectors;
  scripts: Scripts;
  log: Log;
}

export function createPipelineExecutionHandler(
  dependencies: PipelineExecutionDependencies,
): Handler<'pipeline-execution'> {
  return limitTime(dependencies, (work, context) => run(work, context, dependencies));
}

async function run(
  work: WorkOf<'pipeline-execution'>,
  context: WorkContext,
  dependencies: PipelineExecutionDependencies,
): Promise<Outcome> {
  const { payload, environmentShare: share } = work;
  const { folders, artifacts, warehouses, runPool, scripts } = dependencies;
  const { projectId, environmentName, generation } = payload;
  const place = { projectId, environmentName, generation };
  const before = followSignals([context.kill, context.cancel]);
  const held = await acquireArtifacts(artifacts, payload, before.controller.signal)
    .catch((error) => {
      if (context.cancel.aborted && !context.kill.aborted) return undefined;
      throw error;
    })
    .finally(before.release);
  if (!held) return createCancelledOutcome(context);
  try {
    const filesFolder = await makePrivateFolder(folders.files(place));
    const { kind } = payload.warehouse;
    const secrets = createSecretOptions(work, place, context, dependencies);
    const opened = openWorkWarehouse(warehouses, {
      warehouse: payload.warehouse,
      place,
      id: payload.pipelineExecutionId,
      readSecret: secrets.readWarehouseSecret,
    });
    const warehouse = createSwitchingWarehouse(createRunSessions(opened.connect));
    let isTest = false;
    // The statement runs in the warehouse's process, so it is interrupted without waiting for the run's
    // process.
    const interrupt = () => void warehouse.close();
    context.kill.addEventListener('abort', interrupt);
    try {
      context.kill.throwIfAborted();
      if (context.cancel.aborted) return createCancelledOutcome(context);
      await context.reportStarted();
      const { status, message } = await runPool.run({
        request: {
          pipelineExecutionId: payload.pipelineExecutionId,
          ...place,
          pipelineName: payload.pipelineName,
          versionName: payload.versionName,
          ...describeWarehouse(kind, opened),
          sql: readSqlRules(payload.warehouse, place.environmentName),
          variables: payload.variables,
          scalarVariables: payload.scalarVariables,
          gridVariables: payload.gridVariables,
          ...(payload.restart === undefined ? {} : { restart: payload.restart }),
          ...(payload.schedule ? { schedule: payload.schedule } : {}),
        },
        artifact: held.artifact,
        shared: held.shared,
        files: { filesFolder },
        warehouse,
        async enterScratch() {
          if (kind !== 'duckdb') throw new Error(describeTestRefusal(kind));
          const scratch = await openScratchConnection(warehouses[kind], folders, place, randomUUID());
          await warehouse.switchTo(scratch);
          isTest = true;
          return scratch.filesFolder;
        },
        runScript: (job, events, kill) => scripts.run(job, { ...place, share, isTest }, events, kill),
        ...secrets,
        cancel: context.cancel,
        kill: context.kill,
        onStep: context.step,
        // Printed lines may be confidential: they go to the run's log and not to the agent's.
        onLine: (text, { step: stepId, stream }, timestamp) =>
          context.line({ stepId, stream, timestamp, text }),
        onVariables: context.variables,
      });
      return message === undefined ? { status } : { status, message };
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
