/** Queries as work: the payload for the agent, and what its response means. */
import type { WorkOutcome } from '@headgate/contract';
import { type AgentAnswer, createRequestOwner, readFailure } from '../../kernel/work/agent-request.ts';
import type { WorkEnd, WorkServices } from '../../kernel/work/work.ts';
import { selectWarehouse } from '../../workspace/connections/index.ts';
import { selectGeneration } from '../../workspace/environments/index.ts';

const copyMember = (member: string) => `'${member}', r.request::json -> '${member}'`;

/** A WarehouseQueryWork. */
const payload = `
  select json_build_object('projectId', r.project_id, 'environmentName', r.environment_name,
    'generation', ${selectGeneration('r')}, ${['sql', 'maxRows', 'maxBytes', 'seconds'].map(copyMember).join(', ')},
    'warehouse', ${selectWarehouse('r')})`;

export const createQueryOwner = (services: WorkServices) =>
  // A message may quote a row.
  createRequestOwner(services, { kind: 'warehouse-query', payload, showsMessage: false, readEnd });

function readEnd(end: WorkEnd): AgentAnswer {
  // The schema of the agent protocol has validated the members of a report.
  const { queryResult } = (end.result ?? {}) as Pick<WorkOutcome, 'queryResult'>;
  if (end.status === 'SUCCESS' && queryResult !== undefined)
    return { state: 'ANSWERED', result: JSON.stringify(queryResult), message: null };
  return readFailure(end, { otherwise: 'the agent gave no answer', mostCharacters: 5_000 });
}
