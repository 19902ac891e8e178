/** The repository of a place, for the tests that call all operations. */
import type { Place } from './place.ts';

const wanted = {
  headgate: { provider: 'headgate', repositoryName: 'pipelines' },
  github: {
    provider: 'github',
    repositoryName: 'pipelines',
    providerParameters: { ownerName: 'acme' },
    defaultBranch: 'main',
  },
} as const;

/** A body that associates a project with a repository of another host. */
export const onGithub = wanted.github;

export const findRepositoriesPath = ({ project }: Place) => `${project.path}/repositories`;

export async function findProvider(place: Place): Promise<string | undefined> {
  const path = findRepositoriesPath(place);
  const page = await place.account.admin.get<{ results: { provider: string }[] }>(path);
  return page.body.results[0]?.provider;
}

/** Gives the project a repository of this provider, unless it has one. Returns the path of repositories. */
export async function ensureRepository(
  place: Place,
  provider: keyof typeof wanted,
): Promise<{ path: string; isNew: boolean }> {
  const { admin } = place.account;
  const path = findRepositoriesPath(place);
  const found = await findProvider(place);
  if (found === provider) return { path, isNew: false };
  if (found !== undefined) await admin.delete(path);
  const made = await admin.post(path, wanted[provider]);
  return { path, isNew: made.status === 201 };
}
