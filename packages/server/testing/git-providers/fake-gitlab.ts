import { type Dialect, type FakeState, hasRole, listCommits, readBearer } from './fake-provider.ts';

const notFound = { status: 404, body: { message: '404 Project Not Found' } };
const unauthorized = { status: 401, body: { message: '401 Unauthorized' } };
const levels = { none: 0, read: 20, write: 30, admin: 40 };

export const fakeGitlab: Dialect = {
  name: 'gitlab',
  clonePath: '/acme/data/pipelines.git',
  tokenPrefix: 'glpat-',
  findAddresses: (url) => ({ gitlabUrl: url }),
  readToken: readBearer,
  refuseToken(token, { segments }, state) {
    const isRotation = segments.join('/') === 'api/v4/personal_access_tokens/self/rotate';
    // Reuse detection: who rotates a token again may have stolen it, so that the whole family ends.
    if (isRotation && token?.state === 'revoked')
      for (const each of state.tokens.values()) if (each.family === token.family) each.state = 'revoked';
    if (token?.state === 'expired')
      return {
        status: 401,
        body: {
          error: 'invalid_token',
          error_description: 'Token is expired. You can either do re-authorization or token refresh.',
        },
      };
    return unauthorized;
  },
  hidden: notFound,
  limited: { status: 429, headers: { 'retry-after': '42' }, body: 'Retry later\n' },
  answer({ method, segments, query, body, token, tokenText }, state) {
    if (segments.slice(2).join('/') === 'personal_access_tokens/self/rotate')
      return method === 'POST' ? rotate(state, tokenText, query.get('expires_at')) : notFound;
    const { repository } = state;
    const [, , kind, id, ...rest] = segments;
    if (kind !== 'projects' || id !== 'acme/data/pipelines') return notFound;
    const path = rest.join('/');
    if (path === '')
      return {
        status: 200,
        body: {
          id: 7,
          archived: repository.isArchived,
          default_branch: repository.branches[0]?.name ?? null,
          permissions: { project_access: { access_level: levels[token.role] }, group_access: null },
        },
      };
    if (path === 'repository/branches')
      return { status: 200, body: repository.branches.map(({ name }) => ({ name })) };
    if (path === 'repository/commits')
      return {
        status: 200,
        body: listCommits(repository)
          .map(({ id, message, parent }) => ({
            id,
            message,
            parent_ids: parent === undefined ? [] : [parent],
          }))
          .slice(0, 2),
      };
    if (path === 'protected_branches')
      return {
        status: 200,
        body: repository.branches.flatMap(({ name, protection }) =>
          protection === undefined
            ? []
            : [
                {
                  name,
                  allow_force_push: protection.allowsForcePush,
                  push_access_levels: [{ access_level: levels[protection.push] }],
                },
              ],
        ),
      };
    if (rest[0] === 'statuses' && method === 'POST') {
      if (!hasRole(token, 'write')) return { status: 403, body: { message: '403 Forbidden' } };
      const {
        state: status = '',
        description = '',
        target_url = '',
        name = '',
      } = body as Record<string, string>;
      const last = repository.statuses.findLast((each) => each.commit === rest[1] && each.context === name);
      if (last?.state === status)
        return { status: 400, body: { message: `Cannot transition status via :run from :${status}` } };
      repository.statuses.push({
        commit: rest[1] ?? '',
        state: status,
        description,
        targetUrl: target_url,
        context: name,
      });
      return { status: 201, body: { status } };
    }
    return notFound;
  },
  buildHook({ secret, event, branch, commit, deliveryId, at }) {
    const isReview = event === 'review' || event === 'fork';
    const body = isReview
      ? {
          object_kind: 'merge_request',
          object_attributes: {
            action: 'update',
            source_branch: branch,
            source_project_id: event === 'fork' ? 8 : 7,
            target_project_id: 7,
            updated_at: at.toISOString().replace(/T(.*)\.\d+Z/, ' $1 UTC'),
            last_commit: { id: commit },
          },
        }
      : { object_kind: event === 'tag' ? 'tag_push' : event, ref: `refs/heads/${branch}`, after: commit };
    return {
      body: JSON.stringify(body),
      headers: {
        'content-type': 'application/json',
        'x-gitlab-event': isReview ? 'Merge Request Hook' : 'Push Hook',
        'x-gitlab-event-uuid': deliveryId,
        'x-gitlab-token': secret.reveal(),
      },
    };
  },
};

function rotate({ tokens }: FakeState, old: string, expiresAt: string | null) {
  const token = tokens.get(old);
  if (token === undefined) return unauthorized;
  if (expiresAt !== null && !/^\d{4}-\d\d-\d\d$/.test(expiresAt))
    return { status: 400, body: { error: 'expires_at is invalid' } };
  const text = `glpat-${tokens.size}rotatedrotated`;
  tokens.set(text, { ...token, state: 'active', ...(expiresAt === null ? {} : { expiresAt }) });
  token.state = 'revoked';
  return { status: 200, body: { id: tokens.size, token: text, expires_at: expiresAt } };
}
