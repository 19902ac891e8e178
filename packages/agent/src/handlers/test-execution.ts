/** Runs tests one after the other, each in its own process, scratch database and folder for files. */
import type { TestResult, WorkOf } from '@headgate/contract';
import { describeCancellation, getCanceller } from '../cancellation.ts';
import type { TestedOutcome } from '../engine/ports/ports.ts';
import { followSignals } from '../followed-signals.ts';
import { makePrivateFolder } from '../host/folders.ts';
import { getReason } from '../log.ts';
import type { Outcome } from '../session/outbox.ts';
import { type AcquiredArtifacts, acquireArtifacts } from './acquired-artifacts.ts';
import type { Handler, WorkContext } from './handler.ts';
import type { PipelineExecutionDependencies } from './pipeline-execution.ts';
import { createSecretOptions } from './run-secret-options.ts';
import { openScratchConnection } from './scratch-connection.ts';
import { readSqlRules } from './sql-rules.ts';
import { limitTime } from './time-limit.ts';
import { describeWarehouse, openWorkWarehouse, placeScratch } from './work-warehouse.ts';

type TestWork = WorkOf<'test-execution'>;

/** Tests that the message of an execution names. */
const namedTests = 10;

export function createTestExecutionHandler(
  dependencies: PipelineExecutionDependencies,
): Handler<'test-execution'> {
  return limitTime(dependencies, (work, context) => runTests(work, context, dependencies));
}

async function runTests(
  work: TestWork,
  context: WorkContext,
  dependencies: PipelineExecutionDependencies,
): Promise<Outcome> {
  const { payload } = work;
  const before = followSignals([context.kill, context.cancel]);
  const held = await acquireArtifacts(dependencies.artifacts, payload, before.controller.signal)
    .catch((error) => {
      if (context.cancel.aborted && !context.kill.aborted) return undefined;
      throw error;
    })
    .finally(before.release);
  if (!held) return createCancelledOutcome(context, 'before it started');
  try {
    context.kill.throwIfAborted();
    if (context.cancel.aborted) return createCancelledOutcome(context, 'before it started');
    await context.reportStarted();
    const secrets = createSecretOptions(work, payload, context, dependencies);
    const unpassed: string[] = [];
    for (const [index, { testName }] of payload.tests.entries()) {
      if (context.cancel.aborted) return createCancelledOutcome(context, 'between two tests');
      const started = performance.now();
      const result = await runTest({ work, testName, number: index }, held, secrets, context, dependencies);
      context.kill.throwIfAborted();
      context.tested({ ...result, index, durationMs: Math.round(performance.now() - started) });
      if (result.status !== 'PASSED') unpassed.push(testName);
    }
    if (context.cancel.aborted && unpassed.length > 0)
      return createCancelledOutcome(context, 'between two tests');
    return createOutcome(unpassed, payload.tests.length);
  } finally {
    held.release();
  }
}

function createCancelledOutcome({ cancel }: WorkContext, when: string): Outcome {
  return { status: 'CANCELLED', message: `${describeCancellation(getCanceller(cancel))} ${when}` };
}

function createOutcome(unpassed: readonly string[], total: number): Outcome {
  if (unpassed.length === 0) return { status: 'SUCCESS' };
  const more = unpassed.length > namedTests ? [`and ${unpassed.length - namedTests} more`] : [];
  const names = [...unpassed.slice(0, namedTests), ...more].join(', ');
  return { status: 'FAILED', message: `${unpassed.length} of ${total} tests did not pass: ${names}` };
}

type JudgedTest = Omit<TestResult, 'index' | 'durationMs'>;

/** @throws the reason of `kill` */
async function runTest(
  { work, testName, number }: { work: TestWork; testName: string; number: number },
  held: AcquiredArtifacts,
  { readWarehouseSecret, ...secrets }: ReturnType<typeof createSecretOptions>,
  context: WorkContext,
  { folders, warehouses, runPool, scripts }: PipelineExecutionDependencies,
): Promise<JudgedTest> {
  const { payload } = work;
  const { projectId, environmentName, generation } = payload;
  const place = { projectId, environmentName, generation };
  try {
    const environmentFilesFolder = await makePrivateFolder(folders.files(place));
    const name = `${work.workId}-${work.epoch}-${number}`;
    const opened = openWorkWarehouse(warehouses, {
      warehouse: payload.warehouse,
      place,
      id: payload.testExecutionId,
      readSecret: readWarehouseSecret,
    });
    const scratch = await openScratchConnection(opened, folders, place, name);
    const interrupt = () => void scratch.warehouse.close();
    context.kill.addEventListener('abort', interrupt);
    try {
      context.kill.throwIfAborted();
      const outcome = await runPool.run({
        request: {
          pipelineExecutionId: payload.testExecutionId,
          ...place,
          pipelineName: testName,
          versionName: payload.versionName,
          ...describeWarehouse(payload.warehouse.kind, placeScratch(opened, scratch)),
          sql: readSqlRules(payload.warehouse, place.environmentName),
          variables: payload.variables,
          scalarVariables: {},
          gridVariables: {},
          isTest: true,
        },
        artifact: held.artifact,
        shared: held.shared,
        files: { filesFolder: scratch.filesFolder, environmentFilesFolder },
        warehouse: scratch.warehouse,
        openBetween: () => warehouses.duckdb.connectScratch(place, scratch.filesFolder),
        runScript: (job, events, kill) =>
          scripts.run(job, { ...place, share: work.environmentShare, isTest: true }, events, kill),
        ...secrets,
        enterScratch: async () => scratch,
        cancel: context.cancel,
        kill: context.kill,
        // Steps, lines and variables of a test are not kept: its result says what is wrong, and where.
        onStep: () => undefined,
        onLine: () => undefined,
        onVariables: () => undefined,
      });
      return judge(outcome);
    } finally {
      context.kill.removeEventListener('abort', interrupt);
      await scratch.close();
    }
  } catch (error) {
    context.kill.throwIfAborted();
    return { status: 'ERRORED', message: getReason(error) };
  }
}

/** A fault of an assert counts, also if the test goes on after it. */
function judge(outcome: {
  status: 'SUCCESS' | 'FAILED' | 'CANCELLED';
  message?: string;
  tested?: TestedOutcome;
}): JudgedTest {
  const { status, message, tested } = outcome;
  if (tested?.fault !== undefined) return { status: 'FAILED', ...tested.fault };
  if (status === 'SUCCESS')
    return tested?.asserts === 0
      ? { status: 'PASSED', message: 'no assert ran: add components of type assert-table or assert-scalar' }
      : { status: 'PASSED' };
  const reason = message === undefined ? {} : { message };
  return { status: status === 'CANCELLED' ? 'CANCELLED' : 'ERRORED', ...reason };
}
