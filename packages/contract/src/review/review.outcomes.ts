/** Problems of the quality review. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const reviewOutcomes = {
  events: [],
  problems: {
    'review-source': kind<{ named: string }>(
      422,
      'The request must name what to review: an environment, a branch, or files.',
      ({ named }) =>
        `The request names ${named}. Give exactly one of \`environmentName\` (with \`versionName\`), \`branchName\` (with \`commitId\`) and \`files\`.`,
    ),
    'review-too-large': kind<{ reason: string }>(
      422,
      'The pipelines cannot be reviewed in one review.',
      ({ reason }) => `The pipelines cannot be reviewed: ${reason}.`,
    ),
    'quality-gate-refused': kind<{
      environmentName: string;
      versionName: string;
      errors: number;
      listed: number;
    }>(
      422,
      'The environment takes only versions whose quality review is PASSED. Nothing was published.',
      ({ environmentName, versionName, errors, listed }) =>
        `Nothing was published: the environment ${quoted(environmentName)} takes only versions whose quality review is PASSED, and that of ${quoted(versionName)} has ${errors} ${errors === 1 ? 'error' : 'errors'}; \`violations\` lists ${listed < errors ? `the first ${listed}` : 'them'}.`,
    ),
  },
} as const satisfies Outcomes;
