/** Problems and events of lineage. */
import { didYouMean, kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const lineageOutcomes = {
  events: ['lineage-recorded', 'lineage-graph-failed'],
  problems: {
    'lineage-not-found': kind<{
      field: string;
      name: string;
      environmentName: string;
      nearest: string | undefined;
    }>(
      404,
      'No successful run in the environment read or wrote this dataset, column or pipeline.',
      ({ field, name, environmentName, nearest }) =>
        `The latest successful runs in the environment ${quoted(environmentName)} have no ${field} ${quoted(name)}. List the datasets, or run the pipeline first.${didYouMean(nearest)}`,
    ),
  },
} as const satisfies Outcomes;
