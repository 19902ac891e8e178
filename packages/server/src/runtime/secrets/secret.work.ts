/** Secret writes as work: the payload for the agent, and what their end means. */
import type { WorkOutcome } from '@headgate/contract';
import { recordEvents } from '../../kernel/database/events.ts';
import type { WorkOwner, WorkServices } from '../../kernel/work/work.ts';
import { endSecretWrites, grantWrittenNames } from './secret.store.ts';

/** The payload, a SecretWriteWork. */
const payload = `
  select json_strip_nulls(json_build_object('provider', s.provider, 'vaultName', s.vault_name, 'name', s.name, 'key', s.secret_key,
    'type', s.type, 'keyId', s.key_id, 'sealedValue', s.sealed_value))
  from secret_write s where s.account_id = claimed.account_id and s.write_id = claimed.work_id`;

const withoutReceipt = 'the agent sent no receipt.';

export function createSecretWriteOwner(services: WorkServices): WorkOwner {
  const nothing = () => undefined;
  return {
    claimed: { with: [], payload },
    onStarted: nothing,
    onSilent: nothing,
    onCameBack: nothing,
    onRequeued: nothing,
    onEnded(moment, ends) {
      const { tx, accountId, source, now, newId } = moment;
      const rows = ends.map((end) => {
        // The schema of the agent protocol has validated the members of a report.
        const result = (end.result ?? {}) as Pick<WorkOutcome, 'receipt' | 'valueFault'>;
        const receipt = end.status === 'SUCCESS' ? (result.receipt ?? null) : null;
        const message =
          receipt === null ? (result.valueFault ?? end.message?.slice(0, 2_000) ?? withoutReceipt) : null;
        const failed = result.valueFault === undefined ? 'FAILED' : 'REFUSED';
        return { id: end.workId, receipt, message, status: receipt === null ? failed : 'WRITTEN' } as const;
      });
      for (const [status, alike] of Map.groupBy(rows, (row) => row.status))
        endSecretWrites(tx, accountId, status, alike);
      const written = rows.filter(({ status }) => status === 'WRITTEN').map(({ id }) => id);
      if (written.length > 0) grantWrittenNames(moment, written);
      const events = rows.map(({ id, status, message }) => ({
        name: 'secret-write-ended' as const,
        subject: { type: 'secret-write', id },
        after: message === null ? { status } : { status, message },
      }));
      recordEvents(tx, source, events, now, newId);
      tx.afterCommit(() => {
        for (const { id, status } of rows) {
          services.metrics.countEndedWork('secret-write', status);
          services.wakes.wake(id, 'all');
        }
      });
    },
  };
}
