/** Work of a kind that only tests have, on a server of its own. */
import { randomUUID } from 'node:crypto';
import { beforeEach } from 'node:test';
import { startTestServer } from '../../../testing/server.ts';
import { statement } from '../database/database.ts';
import { createLeases } from './lease.ts';
import { createPlaces } from './places.ts';
import { type HeldWork, insertWork, removeWork } from './server-work.ts';
import { createServerWorker, type ServerWorkKind, type WorkerServices } from './server-worker.ts';

export const kind = 'test';
export const leaseSeconds = 20;

export const wake = statement(
  { parameters: { work_id: 'uuid', due_at: 'timestamptz' } },
  'update server_work set due_at = $due_at where work_id = $work_id',
);

/** Call it at the top of a test file. */
export async function createTestWork() {
  const server = await startTestServer();
  const { clock, deps } = server;
  const { database } = deps;
  const accounts = await Promise.all(
    Array.from({ length: 3 }, async () => (await server.account()).accountId),
  );
  const [account = ''] = accounts;

  beforeEach(async () => {
    await server.database.query('delete from server_work where kind = $1', [kind]);
  });

  async function insert(accountId = account): Promise<string> {
    const work = { account_id: accountId, work_id: randomUUID(), kind, due_at: clock.now() };
    await database.transaction((tx) => tx.send(insertWork, work));
    return work.work_id;
  }

  async function readWork(workId: string) {
    const [row] = await server.database.query('select * from server_work where work_id = $1', [workId]);
    return row as
      | { due_at: Date | null; lease_until: Date | null; attempts: number; interruptions: number }
      | undefined;
  }

  const end = (held: HeldWork) => database.transaction((tx) => removeWork(tx, held));

  function createKind(more: Partial<ServerWorkKind> = {}): ServerWorkKind {
    return {
      ...{ kind, name: 'tests', lookMilliseconds: 50, leaseSeconds, places: createPlaces(100, 100) },
      run: end,
      ...more,
    };
  }

  /** A worker of another server. */
  function createWorker(more: Partial<ServerWorkKind> = {}, services: Partial<WorkerServices> = {}) {
    return createServerWorker({ ...deps, leases: createLeases(deps), ...services }, createKind(more));
  }

  async function workOff(more: Partial<ServerWorkKind> = {}): Promise<void> {
    const worker = createWorker(more);
    while (await worker.look()) await worker.wait();
  }

  return {
    ...{ server, clock, deps, database, accounts, account },
    ...{ insert, readWork, end, createKind, createWorker, workOff },
  };
}
