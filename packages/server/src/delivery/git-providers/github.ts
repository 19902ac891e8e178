/** GitHub and GitHub Enterprise Server, REST 2022-11-28. */

import { trimEnd } from '@headgate/pipelines';
import { explainByRules, type FailureRule } from './failure-rules.ts';
import {
  type GitProvider,
  type HookReading,
  type HookRequest,
  type ProviderCall,
  type ProviderFailure,
  type ProviderFinding,
  ProviderRefused,
  type RepositoryDescription,
} from './git-provider.ts';
import {
  computeHmac,
  isSameText,
  isTooOld,
  readBranch,
  readDeliveryId,
  readHookBody,
  refuse,
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
    text: /GH003|cannot force-push/i,
    what: 'GitHub refuses a forced push to this branch.',
    remedy: 'Allow force pushes in the branch protection rule or ruleset, or remove the rule.',
  },
  {
    code: 'hook-declined',
    text: /GITHUB PUSH PROTECTION|push cannot contain secrets/i,
    what: 'Push protection of GitHub found a secret in the commits.',
    remedy:
      'Revoke the secret and remove it from the commits, or allow it by the link in the message of GitHub.',
  },
  {
    code: 'role-too-low',
    text: /refusing to allow an? [a-z -]{1,60} to create or update workflow/i,
    what: 'The credential may not change files below .github/workflows.',
    remedy:
      'Grant it "Workflows: read and write" (an app or a fine-grained token) or the scope workflow (a classic token).',
  },
  {
    code: 'protected-branch',
    text: /GH006|GH013/,
    what: 'A branch protection rule or ruleset of GitHub refuses the push.',
    remedy: 'Let the app or the token bypass the rule, or remove the rule.',
  },
  {
    code: 'role-too-low',
    status: [403],
    text: /resource not accessible by (?:integration|personal access token)/i,
    what: 'The token does not have the permission that this needs.',
    remedy:
      'Grant it "Contents: read and write" and, for commit statuses, "Commit statuses: read and write".',
  },
  {
    code: 'role-too-low',
    status: [403],
    text: /SAML|SSO/,
    what: "The token is not authorized for the organization's single sign-on.",
    remedy: 'Authorize the token for the organization in its settings at GitHub.',
  },
];

const explain = (failure: ProviderFailure): ProviderFinding => explainByRules(rules, failure);
const accept = 'application/vnd.github+json';
const ask = async (call: ProviderCall, request: InterfaceRequest) =>
  readJson(await sendRequest(call, explain, { accept, ...request }));

function buildRepositoryPath({ repository }: ProviderCall): string {
  const found = readNames(repository.cloneUrl, repository.parameters.ownerName);
  if (found === undefined)
    throw new ProviderRefused({
      code: 'repository-not-found',
      detail: `The clone address has the path ${showPath(repository.cloneUrl)}, which does not name an owner and a repository.`,
      remedy: 'Use an address like https://github.com/OWNER/REPOSITORY.git.',
    });
  return `/repos/${encodeURIComponent(found.owner)}/${encodeURIComponent(found.name)}`;
}

function readNames(cloneUrl: string, ownerName?: string): { owner: string; name: string } | undefined {
  const [owner, name] = readPath(cloneUrl)?.segments.slice(-2) ?? [];
  if (name === undefined || owner === undefined) return undefined;
  return { owner: ownerName ?? owner, name };
}

async function describe(call: ProviderCall): Promise<RepositoryDescription> {
  const path = buildRepositoryPath(call);
  const repository = asMembers(await ask(call, { path }));
  const defaultBranch = asText(repository.default_branch);
  const rights = asMembers(repository.permissions);
  // To the token of an installation the host says that it may not even read.
  const canPush = typeof rights.push === 'boolean' && rights.pull !== false ? rights.push : undefined;
  const isArchived = repository.archived === true;
  const branches = asList(await ask(call, { path: `${path}/branches?per_page=100` }));
  const commits =
    branches.length === 1 ? asList(await ask(call, { path: `${path}/commits?per_page=2` })) : [];
  const first = asMembers(commits[0]?.commit);
  const isInitial =
    commits.length === 1 && isInitialCommit({ message: asText(first.message), parents: commits[0]?.parents });
  const isEmptyOrInitialCommit = branches.length === 0 || isInitial;
  const protectedBranches = await readProtected(call, path, branches);
  const findings: ProviderFinding[] = [];
  if (isArchived) findings.push(archived);
  if (canPush === false)
    findings.push({
      code: 'role-too-low',
      detail: 'The token may read the repository but not push to it.',
      remedy: 'Give its owner the role Write, and the token "Contents: read and write".',
    });
  if (!isEmptyOrInitialCommit) findings.push(notEmpty);
  for (const { name, allowsForcePush } of protectedBranches)
    if (!allowsForcePush)
      findings.push({
        code: 'force-push-forbidden',
        detail: `The branch ${JSON.stringify(name)} is protected and refuses forced pushes.`,
        remedy: 'Allow force pushes in its branch protection rule or ruleset, or remove the rule.',
      });
  return {
    defaultBranch: branches.length === 0 ? undefined : defaultBranch,
    isEmptyOrInitialCommit,
    isArchived,
    canRead: true,
    canPush,
    canForcePush: canPush,
    protectedBranches,
    findings,
  };
}

/** A few rules are read; a push tells about the others. */
const mostRulesRead = 20;

async function readProtected(call: ProviderCall, path: string, branches: readonly Members[]) {
  const found: { name: string; allowsForcePush: boolean }[] = [];
  const names = branches.filter((branch) => branch.protected === true).map((each) => asText(each.name));
  for (const name of names.slice(0, mostRulesRead)) {
    if (name === undefined) continue;
    const list = asList(await ask(call, { path: `${path}/rules/branches/${encodeURIComponent(name)}` }));
    // Classic protection is readable for administrators only.
    const classic = await sendRequest(call, explain, {
      accept,
      path: `${path}/branches/${encodeURIComponent(name)}/protection`,
      expected: [403, 404],
    });
    const allows =
      classic.status !== 200 || asMembers(asMembers(readJson(classic)).allow_force_pushes).enabled === true;
    const isForbidden = list.some((rule) => rule.type === 'non_fast_forward');
    found.push({
      name,
      allowsForcePush: allows && !isForbidden && (classic.status === 200 || list.length > 0),
    });
  }
  return found;
}

function readHook({ headers, body, secret, now }: HookRequest): HookReading {
  const signature = headers['x-hub-signature-256'];
  if (signature === undefined)
    return refuse(
      'unsigned-hook',
      'The header X-Hub-Signature-256 is missing; set a secret for the webhook.',
    );
  const expected = `sha256=${computeHmac(secret.reveal(), body).toString('hex')}`;
  if (!isSameText(signature, expected))
    return refuse('wrong-hook-secret', 'The signature in X-Hub-Signature-256 was made with another secret.');
  const id = readDeliveryId(headers['x-github-delivery']);
  const event = headers['x-github-event'];
  const content = readHookBody(body);
  if (id === undefined || event === undefined)
    return refuse('invalid-hook', 'The headers X-GitHub-Delivery and X-GitHub-Event are required.');
  if (content === undefined)
    return refuse('invalid-hook', 'The body is not a JSON object; set the content type application/json.');
  // The delivery id is not signed, the body is: a body that comes again under another id is a replay.
  const deliveryIds = [id, expected];
  if (event === 'push') return readPush(content, deliveryIds, now);
  if (event === 'pull_request') return readReview(content, deliveryIds, now);
  return { kind: 'ignored', deliveryIds, reason: `Events "${event.slice(0, 60)}" have no effect here.` };
}

function readPush(content: Members, deliveryIds: readonly string[], now: Date): HookReading {
  if (isTooOld(asMembers(content.repository).pushed_at, now))
    return refuse('hook-too-old', 'The push happened more than three days ago.');
  const branch = readBranch(content.ref);
  if (branch === undefined) return { kind: 'ignored', deliveryIds, reason: 'The push is not of a branch.' };
  return { kind: 'push', deliveryIds, branches: [branch] };
}

const reviewActions = new Set(['opened', 'reopened', 'synchronize', 'ready_for_review']);

function readReview(content: Members, deliveryIds: readonly string[], now: Date): HookReading {
  const request = asMembers(content.pull_request);
  const [head, base] = [asMembers(request.head), asMembers(request.base)];
  if (isTooOld(request.updated_at, now))
    return refuse('hook-too-old', 'The pull request changed more than three days ago.');
  const action = asText(content.action) ?? '';
  if (!reviewActions.has(action))
    return { kind: 'ignored', deliveryIds, reason: `Action "${action.slice(0, 60)}" has no effect here.` };
  const branch = readBranch(`refs/heads/${asText(head.ref) ?? ''}`);
  if (branch === undefined) return refuse('invalid-hook', 'The pull request has no head.');
  if (asMembers(head.repo).id !== asMembers(base.repo).id)
    return { kind: 'ignored', deliveryIds, reason: 'The pull request comes from a fork.' };
  return { kind: 'review', deliveryIds, branch };
}

const longestDescription = 140;

export const github: GitProvider = {
  name: 'github',
  findInterface(cloneUrl, { githubUrl, githubApiUrl }) {
    if (isBelow(cloneUrl, githubUrl)) return trimEnd(githubApiUrl, '/');
    const found = readPath(cloneUrl);
    return found === undefined ? undefined : `${found.url.origin}/api/v3`;
  },
  tokenScheme: () => 'bearer',
  readParameters(cloneUrl): Record<string, string> {
    const found = readNames(cloneUrl);
    return found === undefined ? {} : { ownerName: found.owner };
  },
  describeRepository: (call) => describeRefusal(describe(call)),
  async setCommitStatus(call, { commit, state, description, targetUrl, context }) {
    await sendRequest(call, explain, {
      accept,
      method: 'POST',
      path: `${buildRepositoryPath(call)}/statuses/${commit}`,
      body: { state, description: shorten(description, longestDescription), target_url: targetUrl, context },
    });
  },
  readHook,
  explainFailure: explain,
};
