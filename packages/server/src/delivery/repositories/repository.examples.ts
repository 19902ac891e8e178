/** A request that succeeds for each operation on repositories. */
import { tokenHeader } from '../../../testing/associated-project.ts';
import {
  ensureHosted,
  ensureRepository,
  findProvider,
  repositoriesPathOf,
  repositoryOnGithub,
} from '../../../testing/example-repository.ts';
import type { Examples, Place } from '../../../testing/place.ts';

const token = { [tokenHeader]: 'github_pat_11AAEXAMPLE' };

/** A project with any repository, for the operations on the association. */
async function ensureAny(place: Place): Promise<string> {
  return (await findProvider(place)) === undefined ? ensureHosted(place) : repositoriesPathOf(place);
}

/** Ensures a branch that has one more file than main. Returns its name. */
async function ensureBranch(place: Place): Promise<string> {
  const path = await ensureHosted(place);
  const name = 'rain';
  const made = await place.account.admin.post(`${path}/branches`, { name });
  const files = [{ path: 'rain.sql', content: 'select 1\n' }];
  if (made.status === 201)
    await place.account.admin.post(`${path}/commits`, { branch: name, message: 'Add the rain', files });
  return name;
}

export const repositoryExamples: Examples = {
  listRepositories: async (place) => ({ path: `${await ensureAny(place)}?page=0&size=10` }),
  async createRepository(place) {
    if ((await findProvider(place)) !== undefined)
      await place.account.admin.delete(repositoriesPathOf(place));
    return { path: repositoriesPathOf(place), headers: token, body: repositoryOnGithub };
  },
  updateRepository: async (place) => ({
    path: await ensureAny(place),
    body: { repositoryName: 'weather', protectedBranches: ['main', 'release'] },
  }),
  deleteRepository: async (place) => ({ path: await ensureAny(place) }),
  storeRepositoryToken: async (place) => ({
    path: `${await ensureRepository(place, repositoryOnGithub)}/token`,
    headers: token,
  }),
  listBranches: async (place) => ({ path: `${await ensureHosted(place)}/branches?page=0&size=10` }),
  createBranch: async (place) => ({
    path: `${await ensureHosted(place)}/branches`,
    body: { name: place.named('rain'), from: 'main' },
  }),
  async deleteBranch(place) {
    const path = `${await ensureHosted(place)}/branches`;
    const name = place.named('rain');
    await place.account.admin.post(path, { name });
    return { path: `${path}?branchName=${name}` };
  },
  async compareBranches(place) {
    const name = await ensureBranch(place);
    return { path: `${repositoriesPathOf(place)}/branches/compare?base=main&head=${name}` };
  },
  listCommits: async (place) => ({ path: `${await ensureHosted(place)}/commits?branch=main&limit=10` }),
  createCommit: async (place) => ({
    path: `${await ensureHosted(place)}/commits`,
    body: {
      branch: 'main',
      message: 'Add the wind',
      files: [{ path: `${place.named('wind')}.sql`, content: 'select 2\n' }],
    },
  }),
  async compareCommits(place) {
    const name = await ensureBranch(place);
    return { path: `${repositoriesPathOf(place)}/diff?from=main&to=${name}` };
  },
  listRepositoryFiles: async (place) => ({
    path: `${await ensureHosted(place)}/files?branch=main&recursive=true&page=0&size=10`,
  }),
  getRepositoryFile: async (place) => ({
    path: `${await ensureHosted(place)}/files/content?branch=main&path=weather.orch.yaml`,
  }),
};
