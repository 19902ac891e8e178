/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { repositoryExamples } from './repository.examples.ts';

export const repositoryGuards: SliceGuards = {
  examples: repositoryExamples,
  // They replace the repository, with its branches and commits, which examples of others have made.
  takesPlaceAway: ['createRepository', 'deleteRepository', 'storeRepositoryToken'],
  countedElsewhere: {
    updateRepository:
      'delivery/repositories/repository.test.ts: a write with If-Match is refused if the repository has changed',
  },
};
