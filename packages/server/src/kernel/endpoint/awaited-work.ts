/**
 * Operations that wait for work: a write that begins it, a wait, and a write that keeps the answer (design
 * law 2).
 */
import type { Operation } from '@headgate/contract';
import { problem } from '../http/problems.ts';
import type { AwaitedWork, Serving } from './call.ts';
import { type Earlier, earlier, removePending, storeOutcome } from './idempotency.ts';
import { keyOfRequest, rendered, replayed, write } from './write.ts';

export function awaitedWork<Op extends Operation>(serving: Serving<Op>): AwaitedWork<Op> {
  const { services, call, operation } = serving;
  const { accountId } = call.scope;
  const key = keyOfRequest(serving);
  return {
    async earlier() {
      if (key === undefined) return undefined;
      const { database, sealer } = services;
      const before = await earlier({ read: database.read, sealer }, accountId, key, call.now);
      return before && replayed(idle(before, call.now));
    },
    async begin(pending, work) {
      const written = await write(serving, key, async (tx) => ({ events: work(tx) }), pending);
      if ('pending' in written && written.pending.workId === pending.workId) return written;
      return idle(written, call.now);
    },
    async finish(workId, answer) {
      const stored = rendered(operation, answer, {});
      if (key !== undefined)
        await services.database.transaction((tx) => storeOutcome(tx, accountId, key, workId, stored));
      return stored;
    },
    async giveUp(workId) {
      if (key !== undefined)
        await services.database.transaction((tx) => removePending(tx, accountId, key, workId));
    },
  };
}

/** Throws `idempotency-key-in-use` for work that another request still waits for. */
function idle(found: Earlier, now: Date): Earlier {
  if ('pending' in found && found.pending.until > now) throw problem('idempotency-key-in-use');
  return found;
}
