/** A request that succeeds for each operation of delivery from Git. */
import { type Examples, mainPipeline, type Place } from '../../testing/place.ts';

const hosted = { provider: 'headgate', repositoryName: 'pipelines' };
const onGithub = {
  provider: 'github',
  repositoryName: 'pipelines',
  providerParameters: { ownerName: 'acme' },
};

/** Gives the project this repository, unless it has it. Returns the path of repositories. */
async function ensureRepository({ account, project }: Place, wanted: { provider: string }): Promise<string> {
  const path = `${project.path}/repositories`;
  const page = await account.admin.get<{ results: { provider: string }[] }>(path);
  const provider = page.body.results[0]?.provider;
  if (provider === wanted.provider) return path;
  if (provider !== undefined) await account.admin.delete(path);
  await account.admin.post(path, wanted);
  return path;
}

/** Commits a pipeline to main of a repository that is hosted here. */
export async function commitPipeline(place: Place): Promise<void> {
  const path = await ensureRepository(place, hosted);
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
    path: `${await ensureRepository(place, onGithub)}/hook-secret`,
    body: {},
  }),
  listGitReviews: async (place) => ({
    path: `${await ensureRepository(place, onGithub)}/reviews?page=0&size=10`,
  }),
};
