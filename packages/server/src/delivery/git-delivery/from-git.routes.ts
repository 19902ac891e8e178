import { type BodyOf, createArtifactFromGit } from '@headgate/contract';
import { type Database, requireRow } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { Problem, problem } from '../../kernel/http/problems.ts';
import { environmentToUploadTo, publishVersion } from '../artifacts/index.ts';
import {
  type OpenedRepository,
  type RepositoryUse,
  requireHead,
  requireRevision,
  requireTag,
} from '../repositories/index.ts';
import { type PublishingServices, publishCommit } from './publish-commit.ts';
import { requireReader } from './repository-reader.store.ts';
import { ruleOfVersion } from './rule-of-version.store.ts';
import { renderVersionName } from './version-name.ts';

export interface FromGitServices extends PublishingServices {
  database: Database;
  repositories: RepositoryUse;
}

export function fromGitRoutes({ long }: Endpoints, services: FromGitServices): void {
  long(createArtifactFromGit, async ({ rows, write, findEarlierAnswer, params, query, body, scope, now }) => {
    const { projectId } = params;
    const { environmentName } = body;
    const notBefore = performance.now();
    // Rights first: a stranger must not learn what the repository has.
    const found = await rows(environmentToUploadTo, { environment_name: environmentName });
    requireRow(found, () => problem('environment-not-found', { name: environmentName }));
    await requireReader(rows, services, scope, projectId);
    const findCommit = chooseRevision(body);
    // The branch may have moved since the first request with the same key.
    const content = JSON.stringify([body, query.strict]);
    const earlier = await findEarlierAnswer(content);
    if (earlier !== undefined) return earlier;
    return services.repositories.withRepository(
      { accountId: scope.accountId, projectId },
      async (opened) => {
        const commit = await findCommit(opened);
        const versionName = body.versionName ?? renderVersionName(commit, body.branch ?? body.tag ?? null);
        const publishing = {
          ...{ accountId: scope.accountId, projectId, environmentName, versionName, commit },
          branch: body.branch ?? null,
          isStrict: query.strict,
        };
        const published = publishCommit(services, opened.content, rows, publishing, (publication) =>
          write(content, (tx) => publishVersion(tx, scope, publication, now)),
        );
        return published.catch(async (failure: unknown) => {
          if (!(failure instanceof Problem) || failure.code !== 'version-exists') throw failure;
          const named = { environment_name: environmentName, version_name: versionName };
          const [rule] = await rows(ruleOfVersion, named);
          throw problem('version-exists', {
            environmentName,
            versionName,
            advice: advise(rule?.branch_name),
          });
        });
      },
      { notBefore },
    );
  });
}

const unknown = (about: { name: string; nearest: string | undefined }) => problem('unknown-revision', about);

/** @returns what finds the commit; it throws `unknown-revision` @throws `branch-or-commit` */
function chooseRevision({
  branch,
  tag,
  commit,
}: BodyOf<typeof createArtifactFromGit>): (opened: OpenedRepository) => Promise<string> {
  const named = [branch, tag, commit].filter((each) => each !== undefined);
  if (named.length !== 1) throw problem('branch-or-commit');
  return (opened) => {
    if (branch !== undefined) return requireHead(opened, branch, unknown);
    if (tag !== undefined) return requireTag(opened, tag, unknown);
    return requireRevision(opened, (commit ?? '').toLowerCase(), unknown);
  };
}

const advise = (branchOfRule: string | undefined) =>
  branchOfRule === undefined
    ? ' To publish the commit once more, send another `versionName`.'
    : ` The delivery rule of the branch ${JSON.stringify(branchOfRule)} has published it. To publish the commit once more, send another \`versionName\`.`;
