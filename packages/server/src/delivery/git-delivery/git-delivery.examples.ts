/** A request that succeeds for each operation of delivery from Git. */
import { ensureHosted, ensureRepository, repositoryOnGithub } from '../../../testing/example-repository.ts';
import type { Examples } from '../../../testing/place.ts';

export const gitDeliveryExamples: Examples = {
  async createArtifactFromGit(place) {
    await ensureHosted(place);
    return {
      path: `${place.project.path}/artifacts/from-git`,
      body: { branch: 'main', environmentName: 'dev', versionName: place.named('1.4.0') },
    };
  },
  createGitHookSecret: async (place) => ({
    path: `${await ensureRepository(place, repositoryOnGithub)}/hook-secret`,
    body: {},
  }),
  listGitReviews: async (place) => ({
    path: `${await ensureRepository(place, repositoryOnGithub)}/reviews?page=0&size=10`,
  }),
};
