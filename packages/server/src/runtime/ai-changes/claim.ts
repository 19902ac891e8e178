/**
 * Holds the changes of a task for one merge or discard. It works on Git outside of a transaction, so that a lease keeps
 * others from the changes: another merge, and tools of a task that was resumed meanwhile.
 */
import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { Leases } from '../../kernel/work/lease.ts';
import { type HeldWork, removeWork } from '../../kernel/work/server-work.ts';
import { type CopyRow, holdCopy, lockCopy } from '../ai-tools/index.ts';
import { type ChangesKey, lockStatus } from './change.store.ts';

const leaseSeconds = 60;

export interface Claim {
  row: CopyRow;
  held: HeldWork;
}

/**
 * Runs `work` while nothing else changes the copy. `work` closes the copy; otherwise it is as before.
 *
 * @param id of the task, as the caller wrote it
 * @throws `ai-task-running`, `ai-task-no-changes`, `ai-task-changes-closed`, `ai-task-changes-busy`
 */
export async function withClaim<Result>(
  { database, clock, leases }: { database: Database; clock: Clock; leases: Leases },
  { key, id }: { key: ChangesKey; id: string },
  work: (claim: Claim) => Promise<Result>,
): Promise<Result> {
  const sentAt = { milliseconds: performance.now(), now: clock.now() };
  const claim = await database.transaction(async (tx) => {
    const found = await lockStatus(tx, key);
    if (found === undefined) throw problem('ai-task-not-found', { id });
    if (found.status === 'RUNNING' || found.status === 'STOPPING') throw problem('ai-task-running', { id });
    const row = await lockCopy(tx, key);
    if (row === undefined) throw problem('ai-task-no-changes', { id });
    if (row.state !== 'OPEN') throw problem('ai-task-changes-closed', { id, state: row.state });
    const held = await holdCopy(tx, row, { now: sentAt.now, seconds: leaseSeconds });
    if (held === undefined) throw problem('ai-task-changes-busy', { id });
    return { row, held };
  });
  const lease = leases.hold(claim.held, leaseSeconds, sentAt);
  try {
    return await work(claim);
  } finally {
    lease.end();
    // Fails if `work` has closed the copy.
    await database
      .transaction(async (tx) => {
        await lockCopy(tx, key);
        await removeWork(tx, claim.held);
      })
      .catch(() => undefined);
  }
}
