/** Problems and events of queries of warehouses. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const warehouseQueryOutcomes = {
  events: ['warehouse-query-requested', 'warehouse-query-claimed', 'warehouse-query-ended'],
  problems: {
    'no-agent-for-query': kind<{ environmentName: string; agentName: string; reason: string }>(
      409,
      'The agent of the environment cannot run queries now.',
      ({ environmentName, agentName, reason }) =>
        `The agent ${quoted(agentName)} of the environment ${quoted(environmentName)} ${reason}.`,
    ),
    'warehouse-query-failed': kind<{ message: string }>(
      422,
      'The warehouse refused the query, or it took too long.',
      ({ message }) => `The query failed: ${message}`,
    ),
    'warehouse-query-timeout': kind<{ agentName: string; seconds: number }>(
      504,
      'The agent did not answer in time.',
      ({ agentName, seconds }) =>
        `The agent ${quoted(agentName)} did not answer within ${seconds} s. Try again, or check its status.`,
    ),
  },
} as const satisfies Outcomes;
