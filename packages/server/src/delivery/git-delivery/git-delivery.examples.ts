/** A request that succeeds for each operation of delivery from Git. */
import { type Examples, mainPipeline, type Place } from '../../testing/place.ts';
import { ensureRepository } from '../../testing/repository-of-place.ts';

/** Commits a pipeline to main of a repository that is hosted here. */
export async function commitPipeline(place: Place): Promise<void> {
  const { path } = await ensureRepository(place, 'headgate');
  const files = [{ path: mainPipeline.name, content: mainPipeline.content }];
  // Without an effect if the branch has the file already.
  await place.account.admin.post(`${path}/commits`, { branch: 'main', message: 'Load the weather', files });
}

export const gitDeliveryExamples: Examples = {
  async createArtifactFromGit(place) {
    await commitPipeline(place);
    return {
      path: `${place.project.path}/artifacts/from-git`,
      body: { branch: 'main', environmentName: 'dev', versionName: place.named('1.4.0') },
    };
  },
  createGitHookSecret: async (place) => ({
    path: `${(await ensureRepository(place, 'github')).path}/hook-secret`,
    body: {},
  }),
  listGitReviews: async (place) => ({
    path: `${(await ensureRepository(place, 'github')).path}/reviews?page=0&size=10`,
  }),
};
