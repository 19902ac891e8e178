/**
 * Claims the changes of a task for one merge or discard. It works on Git outside of a transaction, so that a claim
 * keeps others from the changes: another merge, and tools of a task that was resumed meanwhile.
 */
import { addSeconds } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import { type CopyRow, claimCopy, releaseCopy } from '../ai-tools/index.ts';
import { type ChangesKey, lockStatus } from './change.store.ts';

/** A claim older than this belongs to a server that has died. Requests to Git end sooner. */
const claimSeconds = 300;

export interface Claim {
  row: CopyRow;
  by: string;
}

interface Claiming {
  key: ChangesKey;
  /** As the caller wrote it. */
  id: string;
  newId: NewId;
  now: Date;
}

/**
 * Runs `work` while nothing else changes the copy. `work` closes the copy; otherwise it is as before.
 * @throws `ai-task-running`, `ai-task-no-changes`, `ai-task-changes-closed`, `ai-task-changes-busy`
 */
export async function withClaim<Result>(
  { database }: { database: Database },
  claiming: Claiming,
  work: (claim: Claim) => Promise<Result>,
): Promise<Result> {
  const by = claiming.newId();
  const row = await database.transaction(async (tx) => {
    const { id, key, now } = claiming;
    const found = await lockStatus(tx, key);
    if (found === undefined) throw problem('ai-task-not-found', { id });
    if (found.status === 'RUNNING' || found.status === 'STOPPING') throw problem('ai-task-running', { id });
    if (found.state === null) throw problem('ai-task-no-changes', { id });
    if (found.state !== 'OPEN') throw problem('ai-task-changes-closed', { id, state: found.state });
    const until = addSeconds(now, claimSeconds);
    const claimed = await claimCopy(tx, key, { by, until }, now);
    if (claimed === undefined) throw problem('ai-task-changes-busy', { id });
    return claimed;
  });
  try {
    return await work({ by, row });
  } finally {
    await releaseCopy(database.read, claiming.key, by).catch(() => undefined);
  }
}
