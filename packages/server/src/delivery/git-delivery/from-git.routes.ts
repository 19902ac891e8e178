import { createArtifactFromGit } from '@headgate/contract';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { environmentToUploadTo, publishVersion } from '../artifacts/index.ts';
import { type PublishingServices, publishCommit } from './publish-commit.ts';
import type { RepositoryReader } from './repository-reader.ts';
import { chooseRevision, findCommit } from './revision.ts';
import { renderVersionName } from './version-name.ts';

export interface FromGitServices extends PublishingServices {
  repositories: RepositoryReader;
}

export function fromGitRoutes({ long }: Endpoints, services: FromGitServices): void {
  long(createArtifactFromGit, async ({ rows, write, awaited, params, query, body, scope, now }) => {
    const { projectId } = params;
    const { environmentName, branch } = body;
    const revision = chooseRevision(body);
    // Rights first: a stranger must not learn what the repository has.
    await rows(environmentToUploadTo, { environment_name: environmentName });
    // The branch may have moved since the first request with the same key.
    const earlier = await awaited.findEarlier();
    if (earlier !== undefined && 'answer' in earlier) return earlier.answer;
    return services.repositories.withRepository(
      { accountId: scope.accountId, projectId },
      { since: now },
      async (repository) => {
        const commit = await findCommit(repository, revision);
        const versionName = body.versionName ?? renderVersionName(commit, branch ?? null);
        const wanted = {
          ...{ accountId: scope.accountId, projectId, environmentName, versionName, commit },
          branch: branch ?? null,
          isStrict: query.strict,
        };
        return publishCommit(services, repository, rows, wanted, (publication) =>
          write(undefined, (tx) => publishVersion(tx, scope, publication, now)),
        );
      },
    );
  });
}
