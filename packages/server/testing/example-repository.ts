/** The repository of the project of a place, for examples. */
import { mainPipeline, type Place } from './place.ts';

export const hostedRepository = { provider: 'headgate', repositoryName: 'pipelines' };
export const repositoryOnGithub = {
  provider: 'github',
  repositoryName: 'pipelines',
  providerParameters: { ownerName: 'acme' },
  defaultBranch: 'main',
};

const firstCommit = {
  branch: 'main',
  message: 'Load the weather',
  files: [mainPipeline.name, 'weather.orch.yaml'].map((path) => ({ path, content: mainPipeline.content })),
};

export const repositoriesPathOf = ({ project }: Place): string => `${project.path}/repositories`;

export async function findProvider(place: Place): Promise<string | undefined> {
  const path = repositoriesPathOf(place);
  const page = await place.account.admin.get<{ results: { provider: string }[] }>(path);
  return page.body.results[0]?.provider;
}

/** Gives the project this repository, unless it has it. Returns the path of repositories. */
export async function ensureRepository(place: Place, expected: { provider: string }): Promise<string> {
  const { admin } = place.account;
  const path = repositoriesPathOf(place);
  const found = await findProvider(place);
  if (found === expected.provider) return path;
  if (found !== undefined) await admin.delete(path);
  const made = await admin.post(path, expected);
  if (made.status === 201 && expected.provider === 'headgate')
    await admin.post(`${path}/commits`, firstCommit);
  return path;
}

export async function ensureHosted(place: Place): Promise<string> {
  return ensureRepository(place, hostedRepository);
}
