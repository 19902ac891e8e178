/** Queries as work: the payload for the agent, and what its response means. */
import type { WorkOutcome } from '@headgate/contract';
import type { WorkEnd, WorkOwner, WorkServices } from '../../kernel/work/work.ts';
import { selectGeneration } from '../../workspace/environments/index.ts';
import { projectWarehouse } from '../../workspace/projects/index.ts';
import { endQueries, type QueryEnd } from './warehouse-query.store.ts';

/** The payload, a WarehouseQueryWork. */
const payload = `
  select json_build_object('projectId', q.project_id, 'environmentName', q.environment_name,
    'generation', ${selectGeneration('q')}, 'sql', q.sql,
    'maxRows', q.max_rows, 'maxBytes', q.max_bytes, 'seconds', q.seconds,
    'warehouse', ${projectWarehouse('p')})
  from warehouse_query q
  join project p on p.account_id = q.account_id and p.project_id = q.project_id
  where q.account_id = claimed.account_id and q.query_id = claimed.work_id`;

export function createQueryOwner(services: WorkServices): WorkOwner {
  const nothing = () => undefined;
  return {
    claimed: { with: [], payload },
    onStarted: nothing,
    onSilent: nothing,
    onCameBack: nothing,
    onRequeued: nothing,
    onEnded(moment, ends) {
      const queries = ends.map(createQueryEnd);
      endQueries(moment, queries);
      moment.tx.afterCommit(() => {
        for (const { id, result } of queries) {
          services.metrics.countEndedWork('warehouse-query', result === undefined ? 'FAILED' : 'ANSWERED');
          services.wakes.wake(id, 'all');
        }
      });
    },
  };
}

function createQueryEnd({ workId: id, status, result, message }: WorkEnd): QueryEnd {
  // The schema of the agent protocol has validated the members of a report.
  const { queryResult } = (result ?? {}) as Pick<WorkOutcome, 'queryResult'>;
  if (status === 'SUCCESS' && queryResult !== undefined) return { id, result: queryResult, message: null };
  return { id, result: undefined, message: message?.slice(0, 5_000) ?? 'the agent gave no answer' };
}
