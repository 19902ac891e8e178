/** Signs in to a warehouse, as a run would, and says what came of it. */
import type { ConnectionTestResult, WorkOf } from '@headgate/contract';
import { getReason } from '../log.ts';
import type { Outcome } from '../session/outbox.ts';
import { waitUnlessAborted } from '../unless-aborted.ts';
import type { ServedKind } from '../warehouses/warehouse.ts';
import type { Handler, WorkContext } from './handler.ts';
import { createSecretOptions } from './run-secret-options.ts';
import type { WarehouseQueryDependencies } from './warehouse-query.ts';

const messageLimit = 5_000;

/** By the provider of the connection. */
const drivers: Readonly<Record<string, ServedKind>> = { POSTGRES: 'postgres', SNOWFLAKE: 'snowflake' };

export function createConnectionTestHandler(
  dependencies: WarehouseQueryDependencies,
): Handler<'connection-test'> {
  return async (work, context) => {
    await context.reportStarted();
    const began = performance.now();
    const complete = (result: Omit<ConnectionTestResult, 'durationMs'>): Outcome => ({
      status: 'SUCCESS',
      connectionTest: { ...result, durationMs: Math.round(performance.now() - began) },
    });
    try {
      return complete({ status: 'OK', ...(await signIn(work, context, dependencies)) });
    } catch (error) {
      context.kill.throwIfAborted();
      return complete({ status: 'FAILED', message: getReason(error).slice(0, messageLimit) });
    }
  };
}

function signIn(
  work: WorkOf<'connection-test'>,
  context: WorkContext,
  dependencies: WarehouseQueryDependencies,
): Promise<{ serverVersion: string }> {
  const { projectId, authProvider, connection, seconds } = work.payload;
  const driver = drivers[authProvider];
  if (driver === undefined)
    throw new Error(
      `this agent cannot connect to ${authProvider}: it can connect to ${Object.keys(drivers).join(', ')}`,
    );
  const place = { projectId, environmentName: '' };
  const { readWarehouseSecret } = createSecretOptions(work, place, context, dependencies);
  const target = { connection, tag: `hg:${work.workId}`, readSecret: readWarehouseSecret, places: new Map() };
  const late = AbortSignal.timeout(seconds * 1_000);
  return waitUnlessAborted(dependencies.warehouses[driver].test(target), late).catch((error) => {
    throw late.aborted ? new Error(`the warehouse did not answer within ${seconds} s`) : error;
  });
}
