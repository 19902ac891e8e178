/** Runs one pipeline in its own process, with artifacts from the cache and a connection to its warehouse. */
import { randomUUID } from 'node:crypto';
import type { WorkOf } from '@headgate/contract';
import type { ArtifactCache } from '../artifacts/artifact-cache.ts';
import { describeCancellation, getCanceller } from '../cancellation.ts';
import type { AgentConfig } from '../config.ts';
import type { Connectors } from '../connectors/connectors.ts';
import { sessionLimit } from '../engine/ports/run-messages.ts';
import { followSignals } from '../followed-signals.ts';
import { type Folders, makePrivateFolder } from '../host/folders.ts';
import type { Lineage, RunLineage } from '../lineage/lineage.ts';
import { createOrderedReports } from '../lineage/ordered-reports.ts';
import type { Log } from '../log.ts';
import type { RunPool } from '../pool/run-pool.ts';
import type { Scripts } from '../scripts/scripts.ts';
import type { SecretReferences } from '../secrets/secret-references.ts';
import type { Outcome } from '../session/outbox.ts';
import type { WarehouseConnection, Warehouses } from '../warehouses/warehouse.ts';
import { acquireArtifacts } from './acquired-artifacts.ts';
import type { Handler, WorkContext } from './handler.ts';
import { createSecretOptions } from './run-secret-options.ts';
import { openScratchConnection } from './scratch-connection.ts';
import { readSqlRules } from './sql-rules.ts';
import { limitTime } from './time-limit.ts';
import { describeWarehouse, openWorkWarehouse } from './work-warehouse.ts';

/** The last connection is free unless many branches of the run use the warehouse. */
const lineageSession = sessionLimit - 1;

export interface PipelineExecutionDependencies {
  config: Pick<AgentConfig, 'runTimeLimitSeconds'>;
  runPool: RunPool;
  folders: Folders;
  artifacts: ArtifactCache;
  warehouses: Warehouses;
  secretReferences: SecretReferences;
  connectors: Connectors;
  lineage: Lineage;
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
    // A cancelled run does not wait for its lineage.
    const ended = followSignals([context.kill, context.cancel]);
    const lineage = dependencies.lineage.open(
      {
        name: JSON.stringify([projectId, environmentName, generation, opened.defaults]),
        warehouse:
          opened.defaults === undefined
            ? { kind: 'duckdb' }
            : { kind: kind === 'redshift' || kind === 'snowflake' ? kind : 'postgres', ...opened.defaults },
        filesFolder,
      },
      (sql, maxRows) => warehouse.queryText(sql, maxRows, lineageSession),
      ended.controller.signal,
    );
    const reports = createOrderedReports(context.step, lineage);
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
        warehouse: watchStatements(warehouse, lineage),
        async enterScratch() {
          const scratch = await openScratchConnection(opened, folders, place, randomUUID());
          await warehouse.switchTo(scratch);
          isTest = true;
          return scratch;
        },
        openBetween: () => warehouses.duckdb.connectScratch(place, filesFolder),
        runScript: (job, events, kill) => scripts.run(job, { ...place, share, isTest }, events, kill),
        ...secrets,
        cancel: context.cancel,
        kill: context.kill,
        onStep: reports.addStep,
        // Printed lines may be confidential: they go to the run's log and not to the agent's.
        onLine: (text, { step: stepId, stream }, timestamp) =>
          reports.add(() => context.line({ stepId, stream, timestamp, text })),
        onVariables: (variables) => reports.add(() => context.variables(variables)),
      });
      await reports.settle();
      return message === undefined ? { status } : { status, message };
    } finally {
      context.kill.removeEventListener('abort', interrupt);
      lineage.close();
      ended.release();
      await warehouse.close();
    }
  } finally {
    held.release();
  }
}

/** Tells the lineage of all statements, which may change the columns of tables. */
function watchStatements(warehouse: WarehouseConnection, lineage: RunLineage): WarehouseConnection {
  return {
    ...warehouse,
    async execute(sql, ...more) {
      lineage.noteStatement(sql);
      try {
        return await warehouse.execute(sql, ...more);
      } finally {
        lineage.noteStatement(sql);
      }
    },
  };
}

function createCancelledOutcome({ cancel }: WorkContext): Outcome {
  return { status: 'CANCELLED', message: `${describeCancellation(getCanceller(cancel))} before it started` };
}

/** A connection for each session of a run. Each connects at its first statement: many runs need no warehouse. */
export function createRunSessions(open: () => Promise<WarehouseConnection>): WarehouseConnection {
  const sessions = new Map<number, Promise<WarehouseConnection>>();
  let isClosed = false;
  function connect(session = 0): Promise<WarehouseConnection> {
    if (isClosed) throw new Error('this connection to the warehouse is closed');
    if (!(Number.isInteger(session) && session >= 0 && session < sessionLimit))
      throw new Error(`a run has no session ${session} with its warehouse`);
    const connected = sessions.get(session) ?? open();
    sessions.set(session, connected);
    // The next statement tries again.
    connected.catch(() => sessions.delete(session));
    return connected;
  }
  return {
    execute: async (sql, session, ...more) => (await connect(session)).execute(sql, session, ...more),
    query: async (sql, maxRows, session, ...more) =>
      (await connect(session)).query(sql, maxRows, session, ...more),
    queryText: async (sql, maxRows, session, ...more) =>
      (await connect(session)).queryText(sql, maxRows, session, ...more),
    async copy(sql, file, session, limit) {
      const connection = await connect(session);
      if (connection.copy === undefined) throw new Error('the warehouse reads and writes files itself');
      return connection.copy(sql, file, session, limit);
    },
    async close() {
      isClosed = true;
      const opened = await Promise.allSettled(sessions.values());
      await Promise.all(opened.map((each) => (each.status === 'fulfilled' ? each.value.close() : undefined)));
    },
  };
}

/** A connection that a run can exchange for a scratch database when it turns out to be a test. */
interface SwitchingWarehouse extends WarehouseConnection {
  /** Closes the present connection. */
  switchTo(next: { warehouse: WarehouseConnection; close(): Promise<void> }): Promise<void>;
}

function createSwitchingWarehouse(first: WarehouseConnection): SwitchingWarehouse {
  let warehouse = first;
  let close = () => first.close();
  let isClosed = false;
  return {
    execute: (...statement) => warehouse.execute(...statement),
    query: (...statement) => warehouse.query(...statement),
    queryText: (...statement) => warehouse.queryText(...statement),
    async copy(...statement) {
      if (warehouse.copy === undefined) throw new Error('the warehouse reads and writes files itself');
      return warehouse.copy(...statement);
    },
    async close() {
      isClosed = true;
      await close();
    },
    async switchTo(next) {
      await close();
      warehouse = next.warehouse;
      close = () => next.close();
      // The run was killed meanwhile.
      if (isClosed) await close();
    },
  };
}
