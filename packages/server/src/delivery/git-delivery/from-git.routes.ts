import { createArtifactFromGit } from '@headgate/contract';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { publishVersion } from '../artifacts/index.ts';
import type { GitRepository } from '../git/index.ts';
import { type PublishingServices, publishCommit } from './publish-commit.ts';
import type { RepositoryReader } from './repository-reader.ts';
import { renderVersionName } from './version-name.ts';

export interface FromGitServices extends PublishingServices {
  repositories: RepositoryReader;
}

export function fromGitRoutes({ long }: Endpoints, services: FromGitServices): void {
  long(createArtifactFromGit, async ({ rows, write, params, query, body, scope, now }) => {
    const { projectId } = params;
    const { environmentName, branch } = body;
    const revision = chooseRevision(body);
    // Rights first: a stranger must not learn what the repository has.
    await rows(environmentToUploadTo, { environment_name: environmentName });
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
        return publishCommit(services, repository, rows, wanted, (publication) => {
          const { version, upload, isStrict } = publication;
          const content = JSON.stringify([version, upload.manifest.digest, upload.ignored, isStrict]);
          return write(content, (tx) => publishVersion(tx, scope, publication, now));
        });
      },
    );
  });
}
