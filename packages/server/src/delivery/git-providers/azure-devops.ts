/** Azure DevOps Services and Server, REST 7.1. */
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
} from './git-provider.ts';
import {
  isBasicPassword,
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
    text: /'ForcePush'/,
    what: 'Azure DevOps refuses a forced push.',
    remedy: 'Set the permission "Force push (rewrite history, delete branches and tags)" to Allow.',
  },
  {
    code: 'role-too-low',
    text: /TF401027|'GenericContribute'/,
    what: 'The identity may not push to the repository.',
    remedy: 'Set the permission "Contribute" of the repository to Allow for it.',
  },
  {
    code: 'protected-branch',
    text: /TF402455|TF402456/,
    what: 'A branch policy requires a pull request.',
    remedy: 'Set "Bypass policies when pushing" to Allow for this identity, or turn the policy off.',
  },
  {
    code: 'repository-archived',
    text: /TF401019(?:(?!TF401019).)*disabled|repository is disabled/i,
    what: 'The repository is disabled.',
    remedy: 'Enable it in the settings of the repository.',
  },
  {
    code: 'repository-not-found',
    text: /TF401019|TF200016|VS800075/,
    what: 'The repository or its project does not exist, or the identity may not see it.',
    remedy: 'Check the address, and that the identity may read the repository.',
  },
  // A token that is not accepted leads to the page for signing in.
  {
    code: 'token-rejected',
    status: [203, 302],
    what: 'Azure DevOps does not accept the token.',
    remedy: 'Pass a valid token with the scope "Code: read and write".',
  },
  {
    code: 'role-too-low',
    text: /TF400813/,
    what: 'The identity is not authorized in the organization.',
    remedy: 'Add the service principal to the organization, with access level Basic.',
  },
];

const explain = (failure: ProviderFailure): ProviderFinding => explainByRules(rules, failure);
const version = 'api-version=7.1';
const ask = async (call: ProviderCall, request: InterfaceRequest) =>
  readJson(await sendRequest(call, explain, request));

interface Names {
  /** Empty at `ORGANIZATION.visualstudio.com`. */
  organization: string;
  project: string;
  repository: string;
}

/** `…/ORGANIZATION/PROJECT/_git/REPOSITORY`; the project is left out where it has the repository's name. */
function readNames(cloneUrl: string): Names | undefined {
  const segments = readPath(cloneUrl)?.segments ?? [];
  const mark = segments.indexOf('_git');
  const repository = segments[mark + 1];
  if (mark < 0 || repository === undefined || segments.length > mark + 2) return undefined;
  const before = segments.slice(0, mark);
  const isOldHost = URL.canParse(cloneUrl) && /\.visualstudio\.com$/i.test(new URL(cloneUrl).hostname);
  const most = isOldHost ? before.filter((each) => each !== 'DefaultCollection') : before;
  const organization = isOldHost ? '' : most.slice(0, Math.max(1, most.length - 1)).join('/');
  const project = most[isOldHost ? 0 : Math.max(1, most.length - 1)] ?? repository;
  return { organization, project, repository };
}

function requireNames({ repository }: ProviderCall): Names {
  const names = readNames(repository.cloneUrl);
  if (names !== undefined) return names;
  throw new ProviderRefused({
    code: 'repository-not-found',
    detail: `The clone address has the path ${showPath(repository.cloneUrl)}, which does not name an organization, a project and a repository.`,
    remedy: 'Use an address like https://dev.azure.com/ORGANIZATION/PROJECT/_git/REPOSITORY.',
  });
}

const encode = encodeURIComponent;
const buildOrganizationPath = ({ organization }: Names) =>
  organization === '' ? '' : `/${organization.split('/').map(encode).join('/')}`;
const buildRepositoryPath = (names: Names) =>
  `${buildOrganizationPath(names)}/${encode(names.project)}/_apis/git/repositories/${encode(names.repository)}`;

/** The namespace of the rights of repositories, and two of its rights. */
const gitRights = '2e9eb7ed-3c0a-47d4-87c1-0ffdd275fd87';
const contribute = 4;
const forcePush = 8;

async function describe(call: ProviderCall): Promise<RepositoryDescription> {
  const names = requireNames(call);
  const path = buildRepositoryPath(names);
  const repository = asMembers(await ask(call, { path: `${path}?${version}` }));
  const isArchived = repository.isDisabled === true;
  const branches = isArchived
    ? []
    : asList(asMembers(await ask(call, { path: `${path}/refs?filter=heads/&$top=100&${version}` })).value);
  const isEmptyOrInitialCommit =
    branches.length === 0 ? !isArchived : branches.length === 1 && (await isInitial(call, path));
  const id = asText(repository.id);
  const project = asText(asMembers(repository.project).id);
  const token = `repoV2/${project ?? ''}/${id ?? ''}`;
  const canPush = await hasRight(call, names, contribute, token);
  const canForcePush = await hasRight(call, names, forcePush, token);
  const protectedBranches = await readPolicies(call, names, id);
  const findings: ProviderFinding[] = isArchived ? [archived] : [];
  if (canPush === false) findings.push(explain({ text: "TF401027: 'GenericContribute'" }));
  if (canForcePush === false) findings.push(explain({ text: "'ForcePush'" }));
  if (!isEmptyOrInitialCommit && !isArchived) findings.push(notEmpty);
  for (const { name } of protectedBranches)
    findings.push({
      code: 'protected-branch',
      detail: `A policy of the branch ${JSON.stringify(name)} requires a pull request.`,
      remedy: 'Set "Bypass policies when pushing" to Allow for this identity, or turn the policy off.',
    });
  return {
    defaultBranch: readBranch(repository.defaultBranch),
    isEmptyOrInitialCommit,
    isArchived,
    canRead: true,
    canPush,
    canForcePush,
    protectedBranches,
    findings,
  };
}

async function isInitial(call: ProviderCall, path: string): Promise<boolean> {
  const answer = await ask(call, { path: `${path}/commits?searchCriteria.$top=2&${version}` });
  const commits = asList(asMembers(answer).value);
  const [commit] = commits;
  if (commits.length !== 1 || commit === undefined) return false;
  return isInitialCommit({ message: asText(commit.comment), parents: commit.parents });
}

/** Undefined if Azure DevOps does not say. */
async function hasRight(
  call: ProviderCall,
  names: Names,
  right: number,
  token: string,
): Promise<boolean | undefined> {
  const answer = await sendRequest(call, explain, {
    path: `${buildOrganizationPath(names)}/_apis/permissions/${gitRights}/${right}?tokens=${encode(token)}&${version}`,
    expected: [400, 403, 404],
  });
  if (answer.status !== 200) return undefined;
  const value = asMembers(readJson(answer)).value;
  return Array.isArray(value) && typeof value[0] === 'boolean' ? value[0] : undefined;
}

async function readPolicies(call: ProviderCall, names: Names, id: string | undefined) {
  if (id === undefined) return [];
  const answer = await sendRequest(call, explain, {
    path: `${buildOrganizationPath(names)}/${encode(names.project)}/_apis/git/policy/configurations?repositoryId=${encode(id)}&${version}`,
    expected: [403, 404],
  });
  if (answer.status !== 200) return [];
  const found = new Set<string>();
  for (const policy of asList(asMembers(readJson(answer)).value)) {
    if (policy.isEnabled !== true || policy.isBlocking !== true) continue;
    for (const scope of asList(asMembers(policy.settings).scope)) {
      const branch = readBranch(scope.refName);
      if (branch !== undefined) found.add(branch);
    }
  }
  return [...found].map((name) => ({ name, allowsForcePush: false }));
}

function readHook({ headers, body, secret, now }: HookRequest): HookReading {
  const authorization = headers.authorization;
  if (authorization === undefined)
    return refuse(
      'unsigned-hook',
      'The header Authorization is missing; set user name and password of the subscription.',
    );
  if (!isBasicPassword(authorization, secret))
    return refuse('wrong-hook-secret', 'The password in the header Authorization is another one.');
  const content = readHookBody(body);
  if (content === undefined) return refuse('invalid-hook', 'The body is not a JSON object.');
  const id = readDeliveryId(content.id);
  if (id === undefined) return refuse('invalid-hook', 'The member id is missing.');
  const created = content.createdDate;
  if (isTooOld(created, now)) return refuse('hook-too-old', 'The event happened more than three days ago.');
  const deliveryIds = [id];
  const kind = asText(content.eventType) ?? '';
  const resource = asMembers(content.resource);
  if (kind === 'git.push') {
    const branches = asList(resource.refUpdates).flatMap((update) => readBranch(update.name) ?? []);
    if (branches.length === 0)
      return {
        kind: 'ignored',
        deliveryIds,
        reason: 'The push names no branch; set "Resource details to send" to All.',
      };
    return { kind: 'push', deliveryIds, branches };
  }
  if (kind === 'git.pullrequest.created' || kind === 'git.pullrequest.updated')
    return readReview(resource, deliveryIds);
  return { kind: 'ignored', deliveryIds, reason: `Events "${kind.slice(0, 60)}" have no effect here.` };
}

function readReview(resource: Members, deliveryIds: readonly string[]): HookReading {
  if (resource.status !== undefined && resource.status !== 'active')
    return { kind: 'ignored', deliveryIds, reason: 'The pull request is closed.' };
  if (resource.forkSource !== undefined && resource.forkSource !== null)
    return { kind: 'ignored', deliveryIds, reason: 'The pull request comes from a fork.' };
  const branch = readBranch(resource.sourceRefName);
  if (branch === undefined) return refuse('invalid-hook', 'The pull request has no source branch.');
  return { kind: 'review', deliveryIds, branch };
}

const states: Record<CommitState, string> = { pending: 'pending', success: 'succeeded', failure: 'failed' };
const longestDescription = 500;

export const azureDevOps: GitProvider = {
  name: 'azure-devops',
  findInterface(cloneUrl) {
    return readNames(cloneUrl) === undefined ? undefined : new URL(cloneUrl).origin;
  },
  // A token of Entra is a JWT; a personal one is not.
  tokenScheme: (token) => (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token.reveal()) ? 'bearer' : 'basic'),
  readParameters(cloneUrl): Record<string, string> {
    const organization = readNames(cloneUrl)?.organization;
    return organization === undefined || organization === '' ? {} : { organization };
  },
  describeRepository: (call) => describeRefusal(describe(call)),
  async setCommitStatus(call, { commit, state, description, targetUrl, context }) {
    const [name = context, genre] = context.split('/').reverse();
    await sendRequest(call, explain, {
      method: 'POST',
      path: `${buildRepositoryPath(requireNames(call))}/commits/${commit}/statuses?${version}`,
      body: {
        state: states[state],
        description: shorten(description, longestDescription),
        targetUrl,
        context: { name, ...(genre === undefined ? {} : { genre }) },
      },
    });
  },
  readHook,
  explainFailure: explain,
};
