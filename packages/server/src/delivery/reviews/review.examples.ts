/** A request that succeeds for each operation on reviews. */
import type { Examples } from '../../../testing/place.ts';

export const reviewExamples: Examples = {
  createReview: ({ project }) => ({
    path: `${project.path}/reviews`,
    body: { environmentName: 'dev', versionName: 'v1' },
  }),
};
