/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { repositoryMigrationExamples } from './repository-migration.examples.ts';

export const repositoryMigrationGuards: SliceGuards = {
  examples: repositoryMigrationExamples,
  // A migration cannot be cancelled, and the next one must wait for its end.
  takesPlaceAway: ['startRepositoryMigration', 'getRepositoryMigration'],
};
