/** Checks of secrets as work: what the response of the agent means. Its payload is a SecretCheckWork. */
import type { WorkOutcome } from '@headgate/contract';
import { type AgentAnswer, createRequestOwner, readFailure } from '../../kernel/work/agent-request.ts';
import type { WorkEnd, WorkServices } from '../../kernel/work/work.ts';

export const createSecretCheckOwner = (services: WorkServices) =>
  createRequestOwner(services, { kind: 'secret-check', showsMessage: true, readEnd });

function readEnd(end: WorkEnd): AgentAnswer {
  // The schema of the agent protocol has validated the members of a report.
  const { checkedSecrets } = (end.result ?? {}) as Pick<WorkOutcome, 'checkedSecrets'>;
  if (end.status === 'SUCCESS' && checkedSecrets !== undefined)
    return { state: 'ANSWERED', result: JSON.stringify(checkedSecrets), message: null };
  return readFailure(end, { otherwise: 'the agent gave no answer', mostCharacters: 1_000 });
}
