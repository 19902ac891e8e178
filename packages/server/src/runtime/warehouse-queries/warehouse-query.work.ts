/** Queries as work: the payload for the agent, and what its response means. */
import type { WorkOutcome } from '@headgate/contract';
import { type AgentAnswer, createRequestOwner, readFailure } from '../../kernel/work/agent-request.ts';
import type { WorkEnd, WorkServices } from '../../kernel/work/work.ts';
import { selectWarehouse } from '../../workspace/connections/index.ts';
import { selectGeneration } from '../../workspace/environments/index.ts';

const copyMember = (member: string) => `'${member}', r.request::json -> '${member}'`;

/** A WarehouseQueryWork or TableReadWork. */
const createPayload = (members: readonly string[]) => `
  select json_build_object('projectId', r.project_id, 'environmentName', r.environment_name,
    'generation', ${selectGeneration('r')}, ${members.map(copyMember).join(', ')},
    'warehouse', ${selectWarehouse('r')})`;

export const createQueryOwner = (services: WorkServices) =>
  // A message may quote a row.
  createRequestOwner(services, {
    kind: 'warehouse-query',
    payload: createPayload(['sql', 'maxRows', 'maxBytes', 'seconds']),
    showsMessage: false,
    readEnd: readEndOf('queryResult'),
  });

export const createTableReadOwner = (services: WorkServices) =>
  createRequestOwner(services, {
    kind: 'table-read',
    payload: createPayload(['read', 'maxBytes', 'seconds']),
    showsMessage: false,
    readEnd: readEndOf('tableRead'),
  });

const readEndOf =
  (member: 'queryResult' | 'tableRead') =>
  (end: WorkEnd): AgentAnswer => {
    // The schema of the agent protocol has validated the members of a report.
    const result = ((end.result ?? {}) as WorkOutcome)[member];
    if (end.status === 'SUCCESS' && result !== undefined)
      return { state: 'ANSWERED', result: JSON.stringify(result), message: null };
    return readFailure(end, { otherwise: 'the agent gave no answer', mostCharacters: 5_000 });
  };
