/** Tests of connections as work: what the response of the agent means. Its payload is a ConnectionTestWork. */
import type { WorkOutcome } from '@headgate/contract';
import { type AgentAnswer, createRequestOwner, readFailure } from '../../kernel/work/agent-request.ts';
import type { WorkEnd, WorkServices } from '../../kernel/work/work.ts';

export const createConnectionTestOwner = (services: WorkServices) =>
  createRequestOwner(services, { kind: 'connection-test', showsMessage: true, readEnd });

function readEnd(end: WorkEnd): AgentAnswer {
  // The schema of the agent protocol has validated the members of a report.
  const { connectionTest } = (end.result ?? {}) as Pick<WorkOutcome, 'connectionTest'>;
  if (end.status === 'SUCCESS' && connectionTest !== undefined)
    return { state: 'ANSWERED', result: JSON.stringify(connectionTest), message: null };
  return readFailure(end, { otherwise: 'the agent gave no result', mostCharacters: 5_000 });
}
