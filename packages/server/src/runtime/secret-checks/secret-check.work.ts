/** Checks of secrets as work: the payload for the agent, and what its response means. */
import type { WorkOutcome } from '@headgate/contract';
import type { WorkEnd, WorkOwner, WorkServices } from '../../kernel/work/work.ts';
import { endCheckParts } from './secret-check.store.ts';
import type { PartEnd } from './secret-check.ts';

/** The payload, a SecretCheckWork. */
const payload = `
  select json_build_object('secrets', s.secrets)
  from secret_check_part s where s.account_id = claimed.account_id and s.work_id = claimed.work_id`;

export function createSecretCheckOwner(services: WorkServices): WorkOwner {
  const nothing = () => undefined;
  return {
    claimed: { with: [], payload },
    onStarted: nothing,
    onSilent: nothing,
    onCameBack: nothing,
    onRequeued: nothing,
    onEnded(moment, ends) {
      const parts = ends.map((end) => ({ id: end.workId, ...createPartEnd(end) }));
      endCheckParts(moment, parts);
      moment.tx.afterCommit(() => {
        for (const { id, state } of parts) {
          services.metrics.countEndedWork('secret-check', state);
          services.wakes.wake(id, 'all');
        }
      });
    },
  };
}

function createPartEnd({ status, result, message }: WorkEnd): PartEnd {
  // The schema of the agent protocol has validated the members of a report.
  const { checkedSecrets } = (result ?? {}) as Pick<WorkOutcome, 'checkedSecrets'>;
  if (status === 'SUCCESS' && checkedSecrets !== undefined)
    return { state: 'ANSWERED', findings: checkedSecrets, message: null };
  const state = status === 'FORBIDDEN' ? 'FORBIDDEN' : 'FAILED';
  return { state, findings: null, message: message?.slice(0, 1_000) ?? 'the agent gave no answer' };
}
