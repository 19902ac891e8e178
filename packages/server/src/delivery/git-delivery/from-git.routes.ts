import { createArtifactFromGit } from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { environmentToUploadTo, publishVersion } from '../artifacts/index.ts';
import type { RepositoryUse } from '../repositories/index.ts';
import { type PublishingServices, publishCommit } from './publish-commit.ts';

import { chooseRevision, findCommit } from './revision.ts';
import { renderVersionName } from './version-name.ts';

export interface FromGitServices extends PublishingServices {
  repositories: RepositoryUse;
}

export function fromGitRoutes({ long }: Endpoints, services: FromGitServices): void {
  long(createArtifactFromGit, async ({ rows, write, findEarlierAnswer, params, query, body, scope, now }) => {
    const { projectId } = params;
    const { environmentName, branch } = body;
    const notBefore = performance.now();
    // Rights first: a stranger must not learn what the repository has.
    const found = await rows(environmentToUploadTo, { environment_name: environmentName });
    requireRow(found, () => problem('environment-not-found', { name: environmentName }));
    const revision = chooseRevision(body);
    // The branch may have moved since the first request with the same key.
    const content = JSON.stringify([body, query.strict]);
    const earlier = await findEarlierAnswer(content);
    if (earlier !== undefined) return earlier;
    return services.repositories.withRepository(
      { accountId: scope.accountId, projectId },
      async ({ content: repository }) => {
        const commit = await findCommit(repository, revision);
        const versionName = body.versionName ?? renderVersionName(commit, branch ?? null);
        const wanted = {
          ...{ accountId: scope.accountId, projectId, environmentName, versionName, commit },
          branch: branch ?? null,
          isStrict: query.strict,
        };
        return publishCommit(services, repository, rows, wanted, (publication) =>
          write(content, (tx) => publishVersion(tx, scope, publication, now)),
        );
      },
      { notBefore },
    );
  });
}
