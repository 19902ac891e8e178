import { createHmac } from 'node:crypto';
import { type Dialect, hasRole, listCommits, readBearer } from './fake-provider.ts';

const notFound = { status: 404, body: { message: 'Not Found', documentation_url: 'https://docs' } };

export const fakeGithub: Dialect = {
  name: 'github',
  clonePath: '/acme/pipelines.git',
  tokenPrefix: 'ghp_',
  findAddresses: (url) => ({ githubUrl: url, githubApiUrl: `${url}/` }),
  readToken: readBearer,
  refuseToken: () => ({ status: 401, body: { message: 'Bad credentials' } }),
  hidden: notFound,
  anonymous: {
    status: 403,
    body: 'Request forbidden by administrative rules. Please make sure your request has a User-Agent header',
  },
  limited: {
    status: 403,
    headers: {
      'x-ratelimit-remaining': '0',
      date: 'Mon, 05 Jan 2026 10:00:00 GMT',
      'x-ratelimit-reset': String(Date.parse('2026-01-05T10:00:42Z') / 1_000),
    },
    body: { message: 'API rate limit exceeded for installation ID 1.' },
  },
  answer({ method, segments, body, token, tokenText }, { repository }) {
    const [, owner, name, ...rest] = segments;
    if (segments[0] !== 'repos' || owner !== 'acme' || name !== 'pipelines') return notFound;
    const of = (branch: string | undefined) => repository.branches.find((each) => each.name === branch);
    const path = rest[0] ?? '';
    if (path === '')
      return {
        status: 200,
        body: {
          id: 1,
          name,
          archived: repository.isArchived,
          default_branch: repository.branches[0]?.name ?? 'main',
          // The permissions are those of a user, which an installation is not.
          permissions: tokenText.startsWith('ghs_')
            ? { admin: false, push: false, pull: false }
            : { admin: hasRole(token, 'admin'), push: hasRole(token, 'write'), pull: true },
        },
      };
    if (path === 'branches' && rest[2] === 'protection') {
      const { protection } = of(rest[1]) ?? {};
      if (!hasRole(token, 'admin')) return notFound;
      if (protection === undefined) return { status: 404, body: { message: 'Branch not protected' } };
      return { status: 200, body: { allow_force_pushes: { enabled: protection.allowsForcePush } } };
    }
    if (path === 'branches')
      return {
        status: 200,
        body: repository.branches.map(({ name, commits, protection }) => ({
          name,
          commit: { sha: commits.at(-1)?.id },
          protected: protection !== undefined,
        })),
      };
    if (path === 'rules') {
      const { protection } = of(rest[2]) ?? {};
      if (protection === undefined) return { status: 200, body: [] };
      return {
        status: 200,
        body: [
          { type: 'pull_request' },
          ...(protection.allowsForcePush ? [] : [{ type: 'non_fast_forward' }]),
        ],
      };
    }
    if (path === 'commits') {
      if (repository.branches.length === 0)
        return { status: 409, body: { message: 'Git Repository is empty.' } };
      const commits = listCommits(repository).map(({ id, message, parent }) => ({
        sha: id,
        commit: { message },
        parents: parent === undefined ? [] : [{ sha: parent }],
      }));
      return { status: 200, body: commits.slice(0, 2) };
    }
    if (path === 'statuses' && method === 'POST') {
      if (!hasRole(token, 'write'))
        return { status: 403, body: { message: 'Resource not accessible by personal access token' } };
      const { state, description, target_url, context } = body as Record<string, string>;
      if (description === undefined || description.length > 140)
        return { status: 422, body: { message: 'Validation Failed' } };
      repository.statuses.push({
        commit: rest[1] ?? '',
        state: state ?? '',
        description,
        targetUrl: target_url ?? '',
        context: context ?? '',
      });
      return { status: 201, body: { state } };
    }
    return notFound;
  },
  buildHook({ secret, event, branch, commit, deliveryId, at }) {
    const repo = { id: 1 };
    const pull = {
      action: 'synchronize',
      pull_request: {
        updated_at: at.toISOString(),
        head: { ref: branch, sha: commit, repo: event === 'fork' ? { id: 2 } : repo },
        base: { ref: 'main', repo },
      },
    };
    const push = {
      ref: event === 'tag' ? 'refs/tags/v1' : `refs/heads/${branch}`,
      after: commit,
      repository: { ...repo, pushed_at: Math.floor(at.getTime() / 1_000) },
    };
    const kinds = { push: 'push', tag: 'push', review: 'pull_request', fork: 'pull_request', other: 'star' };
    const body = JSON.stringify(kinds[event] === 'push' ? push : pull);
    const signature = createHmac('sha256', secret.reveal()).update(body).digest('hex');
    return {
      body,
      headers: {
        'content-type': 'application/json',
        'x-github-event': kinds[event],
        'x-github-delivery': deliveryId,
        'x-hub-signature-256': `sha256=${signature}`,
      },
    };
  },
};
