/** A request that succeeds for each operation on repository migrations. A project has one migration at a time. */
import type { Examples, Place } from '../../../testing/place.ts';

const toGithub = {
  mode: 'MIRROR_PUSH',
  targetCloneUrl: 'https://github.com/acme/weather.git',
  targetProvider: 'github',
  targetName: 'acme/weather',
};

/** Gives the project a repository, and returns the path of its migrations. */
async function createRepository({ account, project }: Place): Promise<string> {
  await account.admin.post(`${project.path}/repositories`, {
    provider: 'headgate',
    repositoryName: 'weather',
  });
  return `${project.path}/repository-migration`;
}

export const repositoryMigrationExamples: Examples = {
  startRepositoryMigration: async (place) => ({ path: await createRepository(place), body: toGithub }),
  async getRepositoryMigration(place) {
    const path = await createRepository(place);
    const started = await place.account.admin.post<{ migrationId: string }>(path, toGithub);
    // An earlier request may have started one, which the problem names.
    const migrationId =
      started.status === 409
        ? /migration ([\da-f-]{36})/.exec(started.problem.detail)?.[1]
        : started.body.migrationId;
    return { path: `${path}/${migrationId}` };
  },
};
