/** Work that servers hold, for tests. */
import type { Clock } from '../src/kernel/clock.ts';
import type { Database } from '../src/kernel/database/database.ts';
import { claimWork, listDueWork } from '../src/kernel/work/due-work.ts';
import type { Leases } from '../src/kernel/work/lease.ts';
import type { HeldWork } from '../src/kernel/work/server-work.ts';
import {
  createServerWorker,
  type ServerWorkKind,
  type WorkerServices,
} from '../src/kernel/work/server-worker.ts';

/** Claims what is due, as a server that dies then. */
export async function claimDue(
  { database, clock }: { database: Database; clock: Clock },
  about: Pick<ServerWorkKind, 'kind' | 'leaseSeconds' | 'interruptedAtOnce'>,
): Promise<HeldWork[]> {
  const now = clock.now();
  const { kind, leaseSeconds, interruptedAtOnce: mostInterrupted = 1 } = about;
  const after = '00000000-0000-0000-0000-000000000000';
  const look = { kind, after, fullAccounts: [], held: [], limit: 100, mostInterrupted, now };
  const due = await listDueWork(database.read, look);
  return claimWork(database, due, { kind, leaseSeconds, mostInterrupted, now });
}

/** Does all that is due, to its end. */
export async function doDueWork(services: WorkerServices, about: ServerWorkKind): Promise<void> {
  const worker = createServerWorker(services, about);
  while (await worker.look()) await worker.wait();
}

/** The leases of a server that cannot extend them, nor notices that it lost one. */
export const silentLeases: Leases = {
  hold: () => ({ lost: new AbortController().signal, end: () => undefined }),
  listHeld: () => [],
};
