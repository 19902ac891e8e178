/**
 * Operations that wait for work: a write that starts it, a wait, and a write that stores the response (design
 * law 2).
 */
import type { Operation } from '@headgate/contract';
import { problem } from '../http/problems.ts';
import type { AwaitedWork, Serving } from './call.ts';
import { type Earlier, findEarlier, removePending, storeOutcome } from './idempotency.ts';
import { markReplayed, readKeyOfRequest, renderAnswer, write } from './write.ts';

export function createAwaitedWork<Op extends Operation>(serving: Serving<Op>): AwaitedWork<Op> {
  const { services, call, operation } = serving;
  const { accountId } = call.scope;
  const key = readKeyOfRequest(serving);
  return {
    async findEarlier() {
      if (key === undefined) return undefined;
      const { database, sealer } = services;
      const before = await findEarlier({ read: database.read, sealer }, accountId, key, call.now);
      return before && markReplayed(requireNotPending(before, call.now));
    },
    async begin(pending, work) {
      const written = await write(serving, key, async (tx) => ({ events: work(tx) }), pending);
      if ('pending' in written && written.pending.workId === pending.workId) return written;
      return requireNotPending(written, call.now);
    },
    async finish(workId, answer) {
      const stored = await renderAnswer(operation, answer, {});
      if (key !== undefined)
        await services.database.transaction((tx) => storeOutcome(tx, accountId, key, workId, stored));
      return stored;
    },
    async giveUp(workId) {
      if (key !== undefined)
        await services.database.transaction((tx) =>
          tx.send(removePending, { account_id: accountId, key_digest: key.key, pending_work_id: workId }),
        );
    },
  };
}

/** Throws `idempotency-key-in-use` if another request still waits for the work. */
function requireNotPending(found: Earlier, now: Date): Earlier {
  if ('pending' in found && found.pending.until > now) throw problem('idempotency-key-in-use');
  return found;
}
