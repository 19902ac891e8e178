/** GitLab, REST v4. */

import { Secret } from '@headgate/contract';
import { trimEnd } from '@headgate/pipelines';
import { explainByRules, type FailureRule } from './failure-rules.ts';
import {
  type CommitState,
  type GitProvider,
  type HookReading,
  type HookRequest,
  type ProviderCall,
  type ProviderFailure,
  type ProviderFinding,
  ProviderRefused,
  type RepositoryDescription,
  type RotatedToken,
} from './git-provider.ts';
import {
  computeHmac,
  isSameText,
  isTooOld,
  readBranch,
  readDeliveryId,
  readHookBody,
  refuse,
  signedSeconds,
} from './hook-reading.ts';
import {
  asList,
  asMembers,
  asText,
  type InterfaceRequest,
  isBelow,
  type Members,
  readJson,
  readPath,
  sendRequest,
  shorten,
  showPath,
} from './provider-answer.ts';
import { archived, describeRefusal, isInitialCommit, notEmpty } from './repository-findings.ts';

const rules: readonly FailureRule[] = [
  {
    code: 'force-push-forbidden',
    text: /not allowed to force push/i,
    what: 'GitLab refuses a forced push to this branch.',
    remedy: 'Turn on "Allowed to force push" for the protected branch, or unprotect it.',
  },
  {
    code: 'protected-branch',
    text: /push code to (?:a )?protected branch/i,
    what: 'The branch is protected, and the role of the token may not push to it.',
    remedy: 'Allow the token\'s role in "Allowed to push and merge" of the protected branch.',
  },
  {
    code: 'role-too-low',
    status: [403],
    text: /insufficient_scope|higher privileges/i,
    what: 'The token does not have the scope that this needs.',
    remedy: 'Use a service-account token with the scopes api and write_repository.',
  },
  {
    code: 'role-too-low',
    text: /not allowed to push code to this project/i,
    what: 'The role of the token is too low to push.',
    remedy: 'Give the service account the role Maintainer in the project.',
  },
];

const explain = (failure: ProviderFailure): ProviderFinding => explainByRules(rules, failure);
const ask = async (call: ProviderCall, request: InterfaceRequest) =>
  readJson(await sendRequest(call, explain, request));

function readProjectPath(cloneUrl: string, base = ''): string | undefined {
  const found = readPath(cloneUrl);
  const below = readPath(base)?.segments.length ?? 0;
  const path = found?.segments.slice(isBelow(cloneUrl, base) ? below : 0);
  return path === undefined || path.length < 2 ? undefined : path.join('/');
}

function buildProjectPath({ repository, baseUrl }: ProviderCall): string {
  const id =
    readProjectPath(repository.cloneUrl, baseUrl.replace(/\/api\/v4$/, '')) ??
    repository.parameters.repositoryId;
  if (id === undefined)
    throw new ProviderRefused({
      code: 'repository-not-found',
      detail: `The clone address has the path ${showPath(repository.cloneUrl)}, which does not name a group and a project.`,
      remedy: 'Use an address like https://gitlab.com/GROUP/PROJECT.git.',
    });
  return `/projects/${encodeURIComponent(id)}`;
}

const developer = 30;
const maintainer = 40;

async function describe(call: ProviderCall): Promise<RepositoryDescription> {
  const path = buildProjectPath(call);
  const project = asMembers(await ask(call, { path }));
  const isArchived = project.archived === true;
  const level = readAccessLevel(asMembers(project.permissions));
  const branches = asList(await ask(call, { path: `${path}/repository/branches?per_page=100` }));
  const commits =
    branches.length === 1 ? asList(await ask(call, { path: `${path}/repository/commits?per_page=2` })) : [];
  const [commit] = commits;
  const isInitial =
    commits.length === 1 &&
    commit !== undefined &&
    isInitialCommit({ message: asText(commit.message), parents: commit.parent_ids });
  const isEmptyOrInitialCommit = branches.length === 0 || isInitial;
  const rulesOfBranches = await sendRequest(call, explain, {
    path: `${path}/protected_branches?per_page=100`,
    expected: [401, 403],
  });
  const listed = rulesOfBranches.status === 200 ? asList(readJson(rulesOfBranches)) : [];
  const findings: ProviderFinding[] = isArchived ? [archived] : [];
  if (level !== undefined && level < developer)
    findings.push({
      code: 'role-too-low',
      detail: 'The role of the token in the project is lower than Developer.',
      remedy: 'Give the service account the role Maintainer in the project.',
    });
  if (!isEmptyOrInitialCommit) findings.push(notEmpty);
  findings.push(...listed.flatMap((rule) => findBranchFaults(rule, level)));
  return {
    defaultBranch: branches.length === 0 ? undefined : asText(project.default_branch),
    isEmptyOrInitialCommit,
    isArchived,
    canRead: true,
    canPush: level === undefined ? undefined : level >= developer,
    canForcePush: level === undefined ? undefined : level >= developer,
    protectedBranches: listed.map((rule) => ({
      name: asText(rule.name) ?? '',
      allowsForcePush: rule.allow_force_push === true,
    })),
    findings,
  };
}

/** The highest role of the token, in the project or its group; undefined if GitLab does not say. */
function readAccessLevel(permissions: Members): number | undefined {
  const levels = ['project_access', 'group_access']
    .map((name) => asMembers(permissions[name]).access_level)
    .filter((level): level is number => typeof level === 'number');
  return levels.length === 0 ? undefined : Math.max(...levels);
}

function findBranchFaults(rule: Members, level: number | undefined): ProviderFinding[] {
  const name = JSON.stringify(asText(rule.name) ?? '');
  const needed = asList(rule.push_access_levels)
    .map((each) => each.access_level)
    .filter((each): each is number => typeof each === 'number' && each > 0);
  const faults: ProviderFinding[] = [];
  if (needed.length === 0 || (level !== undefined && level < Math.min(...needed)))
    faults.push({
      code: 'protected-branch',
      detail: `The branch ${name} is protected, and the role of the token may not push to it.`,
      remedy: `Allow ${Math.min(...needed) >= maintainer ? 'its role' : 'the token'} in "Allowed to push and merge", or unprotect the branch.`,
    });
  if (rule.allow_force_push !== true)
    faults.push({
      code: 'force-push-forbidden',
      detail: `The protected branch ${name} refuses forced pushes.`,
      remedy: 'Turn on "Allowed to force push" for it, or unprotect it.',
    });
  return faults;
}

async function rotate(call: ProviderCall, expiresAt: Date): Promise<RotatedToken> {
  const day = expiresAt.toISOString().slice(0, 10);
  const answer = await sendRequest(call, explainRotation, {
    method: 'POST',
    path: `/personal_access_tokens/self/rotate?expires_at=${day}`,
  });
  const content = asMembers(readJson(answer));
  const token = asText(content.token);
  if (token === undefined)
    throw new ProviderRefused({
      code: 'provider-failed',
      detail: 'GitLab rotated the token and did not answer with the new one.',
      remedy: 'Make a new token: the one that was sent is used up.',
    });
  const expires = Date.parse(asText(content.expires_at) ?? '');
  return { token: new Secret(token), expiresAt: Number.isNaN(expires) ? undefined : new Date(expires) };
}

/** GitLab answers 401 for a token that was rotated before, and then revokes what came of it. */
function explainRotation(failure: ProviderFailure): ProviderFinding {
  const finding = explain(failure);
  if (failure.status !== 401) return finding;
  const detail = `GitLab does not accept the token for rotation: it is wrong, expired, or was rotated before; then its successors are revoked too. ${finding.detail}`;
  return { code: 'token-reused', detail, remedy: 'Make a new token; each attempt needs its own.' };
}

const states: Record<CommitState, string> = { pending: 'pending', success: 'success', failure: 'failed' };
const longestDescription = 255;

function readHook(request: HookRequest): HookReading {
  const { headers, body, now } = request;
  const fault = findSenderFault(request);
  if (fault !== undefined) return fault;
  const id = readDeliveryId(headers['x-gitlab-event-uuid']);
  const retried = readDeliveryId(headers['webhook-id'] ?? headers['idempotency-key']);
  const content = readHookBody(body);
  if (id === undefined)
    return refuse('invalid-hook', 'The header X-Gitlab-Event-UUID is required (GitLab 15.0 or later).');
  if (content === undefined) return refuse('invalid-hook', 'The body is not a JSON object.');
  // A hook that is sent again keeps its Idempotency-Key; hooks of one cause share the event's UUID.
  const deliveryIds = [retried ?? id];
  const kind = asText(content.object_kind) ?? '';
  if (kind === 'push') {
    const branch = readBranch(content.ref);
    if (branch === undefined) return { kind: 'ignored', deliveryIds, reason: 'The push is not of a branch.' };
    return { kind: 'push', deliveryIds, branches: [branch] };
  }
  if (kind === 'merge_request') return readReview(content, deliveryIds, now);
  return { kind: 'ignored', deliveryIds, reason: `Events "${kind.slice(0, 60)}" have no effect here.` };
}

/** The sender shows the secret, or signs by it (Standard Webhooks). */
function findSenderFault({ headers, body, secret, now }: HookRequest): HookReading | undefined {
  const signatures = headers['webhook-signature'];
  if (signatures !== undefined) {
    const [id = '', at = ''] = [headers['webhook-id'], headers['webhook-timestamp']];
    const key = Buffer.from(secret.reveal().replace(/^whsec_/, ''), 'base64');
    const expected = `v1,${computeHmac(key, `${id}.${at}.`, body).toString('base64')}`;
    if (!signatures.split(' ').some((each) => isSameText(each, expected)))
      return refuse('wrong-hook-secret', 'The signature in webhook-signature was made with another secret.');
    const distance = Math.abs(now.getTime() / 1_000 - Number(at));
    if (!(distance <= signedSeconds))
      return refuse('hook-too-old', `The signed time is more than ${signedSeconds} s away from now.`);
    return undefined;
  }
  const token = headers['x-gitlab-token'];
  if (token === undefined)
    return refuse(
      'unsigned-hook',
      'The header X-Gitlab-Token is missing; set the secret token of the webhook.',
    );
  return isSameText(token, secret.reveal())
    ? undefined
    : refuse('wrong-hook-secret', 'The header X-Gitlab-Token holds another secret.');
}

const reviewActions = new Set(['open', 'reopen', 'update']);

function readReview(content: Members, deliveryIds: readonly string[], now: Date): HookReading {
  const request = asMembers(content.object_attributes);
  if (isTooOld(readGitlabTime(request.updated_at), now))
    return refuse('hook-too-old', 'The merge request changed more than three days ago.');
  const action = asText(request.action) ?? '';
  if (!reviewActions.has(action))
    return { kind: 'ignored', deliveryIds, reason: `Action "${action.slice(0, 60)}" has no effect here.` };
  const branch = readBranch(`refs/heads/${asText(request.source_branch) ?? ''}`);
  if (branch === undefined) return refuse('invalid-hook', 'The merge request has no source branch.');
  if (request.source_project_id !== request.target_project_id)
    return { kind: 'ignored', deliveryIds, reason: 'The merge request comes from a fork.' };
  return { kind: 'review', deliveryIds, branch };
}

/** GitLab writes `2026-01-31 12:00:00 UTC` in some versions. */
const readGitlabTime = (value: unknown) =>
  typeof value === 'string' ? value.replace(/^(\S+) (\S+) UTC$/, '$1T$2Z') : value;

export const gitlab: GitProvider = {
  name: 'gitlab',
  findInterface(cloneUrl, { gitlabUrl }) {
    if (isBelow(cloneUrl, gitlabUrl)) return `${trimEnd(gitlabUrl, '/')}/api/v4`;
    const found = readPath(cloneUrl);
    return found === undefined ? undefined : `${found.url.origin}/api/v4`;
  },
  tokenScheme: () => 'bearer',
  readParameters: () => ({}),
  describeRepository: (call) => describeRefusal(describe(call)),
  rotateToken: rotate,
  async setCommitStatus(call, { commit, state, description, targetUrl, context }) {
    const path = `${buildProjectPath(call)}/statuses/${commit}`;
    const body = {
      state: states[state],
      name: context,
      target_url: targetUrl,
      description: shorten(description, longestDescription),
    };
    const answer = await sendRequest(call, explain, { method: 'POST', path, body, expected: [400] });
    // GitLab refuses a transition to the state that the status has already.
    if (answer.status === 400 && !/cannot transition status/i.test(answer.body))
      throw new ProviderRefused(
        explain({ status: answer.status, headers: answer.headers, text: answer.body }),
      );
  },
  readHook,
  explainFailure: explain,
};
