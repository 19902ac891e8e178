/** What this slice contributes to the tests over all operations. */
import { ensureHosted } from '../../../testing/example-repository.ts';
import type { Place } from '../../../testing/place.ts';
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { gitDeliveryExamples } from './git-delivery.examples.ts';

/** The requests for one name come at the same time, and only one of them makes the repository. */
const repositories = new WeakMap<Place, Promise<string>>();

export const gitDeliveryGuards: SliceGuards = {
  examples: gitDeliveryExamples,
  // They replace a repository that is hosted here, with what examples of others have made in it.
  takesPlaceAway: ['createGitHookSecret', 'listGitReviews'],
  uniqueNames: {
    async createArtifactFromGit(place, versionName) {
      const repository = repositories.get(place) ?? ensureHosted(place);
      repositories.set(place, repository);
      await repository;
      const body = { branch: 'main', environmentName: 'dev', versionName };
      return place.account.admin.post(`${place.project.path}/artifacts/from-git`, body);
    },
  },
};
