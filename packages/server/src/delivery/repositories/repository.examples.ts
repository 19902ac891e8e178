/** A request that succeeds for each operation on repositories. */
import { tokenHeader } from '../../testing/associated-project.ts';
import type { Examples, Place } from '../../testing/place.ts';

const hosted = { provider: 'headgate', repositoryName: 'pipelines' };
const onGithub = {
  provider: 'github',
  repositoryName: 'pipelines',
  providerParameters: { ownerName: 'acme' },
  defaultBranch: 'main',
};
const token = { [tokenHeader]: 'github_pat_11AAEXAMPLE' };
const pathOf = ({ project }: Place) => `${project.path}/repositories`;

async function findProvider(place: Place): Promise<string | undefined> {
  const page = await place.account.admin.get<{ results: { provider: string }[] }>(pathOf(place));
  return page.body.results[0]?.provider;
}

/** Gives the project this repository, unless it has it. Returns the path of repositories. */
async function ensureRepository(place: Place, wanted: { provider: string }): Promise<string> {
  const { admin } = place.account;
  const path = pathOf(place);
  const found = await findProvider(place);
  if (found === wanted.provider) return path;
  if (found !== undefined) await admin.delete(path);
  const made = await admin.post(path, wanted);
  if (made.status === 201 && wanted.provider === 'headgate') await admin.post(`${path}/commits`, firstCommit);
  return path;
}

const firstCommit = {
  branch: 'main',
  message: 'Load the weather',
  files: [{ path: 'weather.orch.yaml', content: 'type: "orchestration"\nversion: "1.0"\n' }],
};

async function ensureHosted(place: Place): Promise<string> {
  return ensureRepository(place, hosted);
}

/** Creates a branch that has one more file than main. Returns its name. */
async function createBranch(place: Place): Promise<string> {
  const path = await ensureHosted(place);
  const name = place.named('rain');
  await place.account.admin.post(`${path}/branches`, { name });
  const files = [{ path: 'rain.sql', content: 'select 1\n' }];
  await place.account.admin.post(`${path}/commits`, { branch: name, message: 'Add the rain', files });
  return name;
}

export const repositoryExamples: Examples = {
  listRepositories: async (place) => ({ path: `${await ensureHosted(place)}?page=0&size=10` }),
  async createRepository(place) {
    if ((await findProvider(place)) !== undefined) await place.account.admin.delete(pathOf(place));
    return { path: pathOf(place), headers: token, body: onGithub };
  },
  updateRepository: async (place) => ({
    path: await ensureHosted(place),
    body: { repositoryName: 'weather', protectedBranches: ['main', 'release'] },
  }),
  deleteRepository: async (place) => ({ path: await ensureHosted(place) }),
  storeRepositoryToken: async (place) => ({
    path: `${await ensureRepository(place, onGithub)}/token`,
    headers: token,
  }),
  listBranches: async (place) => ({ path: `${await ensureHosted(place)}/branches?page=0&size=10` }),
  createBranch: async (place) => ({
    path: `${await ensureHosted(place)}/branches`,
    body: { name: place.named('rain'), from: 'main' },
  }),
  async deleteBranch(place) {
    const name = await createBranch(place);
    return { path: `${pathOf(place)}/branches?branchName=${name}` };
  },
  async compareBranches(place) {
    const name = await createBranch(place);
    return { path: `${pathOf(place)}/branches/compare?base=main&head=${name}` };
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
    const name = await createBranch(place);
    return { path: `${pathOf(place)}/diff?from=main&to=${name}` };
  },
  listRepositoryFiles: async (place) => ({
    path: `${await ensureHosted(place)}/files?branch=main&recursive=true&page=0&size=10`,
  }),
  getRepositoryFile: async (place) => ({
    path: `${await ensureHosted(place)}/files/content?branch=main&path=weather.orch.yaml`,
  }),
};
