import { type Dialect, hasRole, listCommits, readBearer } from './fake-provider.ts';

const notFound = {
  status: 404,
  body: {
    message:
      'TF401019: The Git repository with name or identifier pipelines does not exist or you do not have permissions for the operation you are attempting.',
    typeKey: 'GitRepositoryNotFoundException',
  },
};
const rightsOf = { '4': 'write', '8': 'admin' } as const;

export const fakeAzureDevOps: Dialect = {
  name: 'azure-devops',
  clonePath: '/acme/data/_git/pipelines',
  tokenPrefix: 'azd',
  findAddresses: (url) => ({ azureDevOpsUrl: url }),
  readToken(headers) {
    const basic = /^Basic (.+)$/i.exec(headers.authorization ?? '')?.[1];
    if (basic === undefined) return readBearer(headers);
    return Buffer.from(basic, 'base64')
      .toString('utf8')
      .replace(/^[^:]*:/, '');
  },
  refuseToken: (token) =>
    token?.state === 'expired'
      ? { status: 401, body: 'Access Denied: The Personal Access Token used has expired.' }
      : { status: 203, body: '<html><title>Azure DevOps Services | Sign In</title></html>' },
  hidden: notFound,
  limited: {
    status: 429,
    headers: { 'retry-after': '42' },
    body: {
      message:
        'TF400733: The request has been canceled: Request was blocked due to exceeding usage of resource.',
    },
  },
  answer({ method, segments, query, body, token }, { repository }) {
    if (query.get('api-version') !== '7.1')
      return { status: 400, body: { message: 'No api-version was supplied.' } };
    if (segments[0] !== 'acme') return notFound;
    if (segments[2] === 'permissions') {
      if (query.get('tokens') !== 'repoV2/project-1/repository-1') return { status: 400, body: {} };
      const role = rightsOf[segments[4] as keyof typeof rightsOf];
      return { status: 200, body: { count: 1, value: [hasRole(token, role)] } };
    }
    if (segments.slice(1, 6).join('/') === 'data/_apis/git/policy/configurations') {
      const scopes = repository.branches
        .filter((each) => each.protection?.allowsForcePush === false)
        .map(({ name }) => ({ refName: `refs/heads/${name}`, matchKind: 'Exact' }));
      return {
        status: 200,
        body: { value: [{ isEnabled: true, isBlocking: true, settings: { scope: scopes } }] },
      };
    }
    if (segments.slice(1, 6).join('/') !== 'data/_apis/git/repositories/pipelines') return notFound;
    const path = segments.slice(6);
    if (path.length === 0)
      return {
        status: 200,
        body: {
          id: 'repository-1',
          project: { id: 'project-1' },
          isDisabled: repository.isArchived,
          ...(repository.branches[0] === undefined
            ? {}
            : { defaultBranch: `refs/heads/${repository.branches[0].name}` }),
        },
      };
    if (repository.isArchived) return notFound;
    if (path[0] === 'refs')
      return {
        status: 200,
        body: {
          value: repository.branches.map(({ name, commits }) => ({
            name: `refs/heads/${name}`,
            objectId: commits.at(-1)?.id,
          })),
        },
      };
    if (path[0] === 'commits' && path.length === 1)
      return {
        status: 200,
        body: {
          value: listCommits(repository)
            .map(({ id, message }) => ({ commitId: id, comment: message }))
            .slice(0, 2),
        },
      };
    if (path[2] === 'statuses' && method === 'POST') {
      if (!hasRole(token, 'write'))
        return {
          status: 403,
          body: {
            message: "TF401027: You need the Git 'GenericContribute' permission to perform this action.",
          },
        };
      const { state, description, targetUrl } = body as Record<string, string>;
      const { genre, name } = body.context as Record<string, string>;
      repository.statuses.push({
        commit: path[1] ?? '',
        state: state ?? '',
        description: description ?? '',
        targetUrl: targetUrl ?? '',
        context: `${genre}/${name}`,
      });
      return { status: 201, body: { state } };
    }
    return notFound;
  },
  buildHook({ secret, event, branch, commit, deliveryId, at }) {
    const isReview = event === 'review' || event === 'fork';
    const resource = isReview
      ? {
          status: 'active',
          sourceRefName: `refs/heads/${branch}`,
          lastMergeSourceCommit: { commitId: commit },
          ...(event === 'fork' ? { forkSource: { repository: { id: 'other' } } } : {}),
        }
      : {
          refUpdates: [
            { name: event === 'tag' ? 'refs/tags/v1' : `refs/heads/${branch}`, newObjectId: commit },
          ],
        };
    const eventType = isReview
      ? 'git.pullrequest.updated'
      : event === 'other'
        ? 'build.complete'
        : 'git.push';
    return {
      body: JSON.stringify({ id: deliveryId, eventType, resource, createdDate: at.toISOString() }),
      headers: {
        'content-type': 'application/json; charset=utf-8',
        authorization: `Basic ${Buffer.from(`headgate:${secret.reveal()}`).toString('base64')}`,
      },
    };
  },
};
