import {
  type BodyOf,
  createRepository,
  deleteRepository,
  listRepositories,
  pageSizeLimit,
  storeRepositoryToken,
  updateRepository,
} from '@headgate/contract';
import type { Endpoints, ReadCall } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import type { EgressGuard } from '../../kernel/security/egress.ts';
import { type Sealer, Secret } from '../../kernel/security/sealed.ts';
import { findOauthOrigin, usableEnterpriseOauth } from '../enterprise-oauths/index.ts';
import {
  type Credential,
  createCredential,
  findOrigin,
  type Mirrors,
  sealCredential,
  unsealCredential,
} from '../git-remotes/index.ts';
import { writeDeliveryRules } from './delivery-rule.store.ts';
import {
  deleteRepositoryRow,
  findRepository,
  insertRepository,
  lockRepository,
  type RepositoryRow,
  type RepositorySettings,
  renderRepositoryEtag,
  repositoryOfProject,
  requireNoMigration,
  storeCredential,
  updateRepositoryRow,
} from './repository.store.ts';
import { presentRepository, requireBranchName, requireCloneUrl } from './repository.ts';

interface GitAddresses {
  githubUrl: string;
  githubApiUrl: string;
  gitlabUrl: string;
  azureDevOpsUrl: string;
  entraUrl: string;
}

export interface RepositoryRouteServices {
  sealer: Sealer;
  egress: EgressGuard;
  mirrors: Mirrors;
  config: { publicUrl: string; gitAddresses: GitAddresses };
}

const hostedBranch = 'main';

export function repositoryRoutes(
  { read, write, long }: Endpoints,
  { sealer, egress, mirrors, config }: RepositoryRouteServices,
): void {
  const trustedOrigins = new Set(Object.values(config.gitAddresses).map(findOrigin));

  read(listRepositories, async ({ query, rows }) => {
    const found = await rows(repositoryOfProject, {});
    const results = (query.page === 0 ? found : []).map((row) => presentRepository(row, config));
    return {
      body: { page: query.page, results, size: Math.min(query.size, pageSizeLimit), total: found.length },
    };
  });

  // Long, because the check of an address asks a name server.
  long(createRepository, async ({ params, headers, body, rows, scope, now, write: commit }) => {
    const [existing] = await rows(repositoryOfProject, {});
    const token = headers['Git-Provider-Access-Token'];
    const content = JSON.stringify([body, token ?? null]);
    if (body.defaultBranch !== undefined) requireBranchName(body.defaultBranch);
    const isHosted = body.provider === 'headgate';
    const cloneUrl = isHosted
      ? refuseForHosted(body, token)
      : await requireCloneUrl({ egress, trustedOrigins }, chooseCloneUrl(body, config.gitAddresses));
    const place = { accountId: scope.accountId, projectId: params.projectId };
    if (cloneUrl !== null && body.enterpriseOauthId !== undefined)
      await requireFittingOauth(rows, body.enterpriseOauthId, { ...body, cloneUrl, token });
    const credential =
      token === undefined || cloneUrl === null ? undefined : makeCredential(body, cloneUrl, token);
    return commit(content, (tx) => {
      if (existing !== undefined) requireNoMigration(existing);
      const row: RepositorySettings = {
        project_id: params.projectId,
        provider: body.provider,
        repository_name: body.repositoryName,
        clone_url: cloneUrl,
        provider_parameters: body.providerParameters ?? {},
        default_branch: body.defaultBranch ?? (isHosted ? hostedBranch : null),
        protected_branches: null,
        enterprise_oauth_id: body.enterpriseOauthId ?? null,
        sealed_credential: credential === undefined ? null : sealCredential(sealer, place, credential),
        credential_origin: credential?.origin ?? null,
        credential_expires_at: null,
        credential_problem: null,
        version: 1,
        created_by: scope.actorId,
        created_at: now,
        updated_at: now,
      };
      insertRepository(tx, scope.accountId, row);
      const after = presentRepository(row, config);
      return {
        body: after,
        etag: renderRepositoryEtag(row),
        location: `/v1/projects/${params.projectId}/repositories`,
        events: [
          { name: 'repository-created', projectId: params.projectId, subject: buildSubject(row), after },
        ],
      };
    });
  });

  write(updateRepository, async ({ tx, scope, params, headers, body, now }) => {
    const stored = await lockRepository(tx, { ...scope, ...params });
    requireMatch(headers['If-Match'], renderRepositoryEtag(stored));
    const rules = body.deliveryRules;
    const ofRules = (rules ?? []).map((rule) => rule.branchName);
    for (const name of [body.defaultBranch ?? [], body.protectedBranches ?? [], ofRules].flat())
      requireBranchName(name);
    const row: RepositoryRow = {
      ...stored,
      repository_name: body.repositoryName ?? stored.repository_name,
      default_branch: body.defaultBranch ?? stored.default_branch,
      protected_branches:
        body.protectedBranches === undefined ? stored.protected_branches : body.protectedBranches,
      provider_parameters: body.providerParameters ?? stored.provider_parameters,
      sealed_credential: renameUser(
        sealer,
        { accountId: scope.accountId, projectId: params.projectId },
        stored,
        body,
      ),
      version: stored.version + 1,
      updated_at: now,
    };
    updateRepositoryRow(tx, scope.accountId, row);
    if (rules !== undefined) {
      await writeDeliveryRules(tx, { ...scope, ...params, now }, rules);
      row.delivery_rules = (await findRepository(tx.query, { ...scope, ...params }))?.delivery_rules ?? null;
    }
    const [before, after] = [presentRepository(stored, config), presentRepository(row, config)];
    const subject = buildSubject(row);
    return {
      body: after,
      etag: renderRepositoryEtag(row),
      events: [{ name: 'repository-updated', projectId: params.projectId, subject, before, after }],
    };
  });

  // Long, because the mirror is removed after the transaction. Those of other servers are removed by a job.
  long(deleteRepository, async ({ scope, params, headers, rows, write: commit }) => {
    await rows(repositoryOfProject, {});
    const place = { accountId: scope.accountId, projectId: params.projectId };
    const answer = await commit('', async (tx) => {
      const stored = await lockRepository(tx, place);
      requireMatch(headers['If-Match'], renderRepositoryEtag(stored));
      deleteRepositoryRow(tx, place);
      const before = presentRepository(stored, config);
      const subject = buildSubject(stored);
      return { events: [{ name: 'repository-deleted', projectId: params.projectId, subject, before }] };
    });
    await mirrors.remove(place.accountId, place.projectId);
    return answer;
  });

  long(storeRepositoryToken, async ({ params, headers, rows, scope, now, write: commit }) => {
    const token = headers['Git-Provider-Access-Token'];
    const place = { accountId: scope.accountId, projectId: params.projectId };
    await rows(repositoryOfProject, {});
    return commit(token, async (tx) => {
      const stored = await lockRepository(tx, place);
      if (stored.clone_url === null) throw refuseCredential(withoutToken);
      const credential = makeCredential(
        { provider: stored.provider, providerParameters: stored.provider_parameters },
        stored.clone_url,
        token,
      );
      storeCredential(tx, place, {
        sealed: sealCredential(sealer, place, credential),
        origin: credential.origin,
        now,
      });
      const subject = buildSubject(stored);
      const after = { origin: credential.origin };
      return {
        events: [{ name: 'repository-token-stored', projectId: params.projectId, subject, after }],
      };
    });
  });

  /** @throws `unknown-enterprise-oauth`, `repository-credential-refused` */
  async function requireFittingOauth(
    rows: ReadCall<typeof createRepository>['rows'],
    id: string,
    input: { provider: string; cloneUrl: string; token: string | undefined },
  ): Promise<void> {
    if (input.token !== undefined)
      throw refuseCredential(
        'Send either body.enterpriseOauthId or the header Git-Provider-Access-Token, not both.',
      );
    const [row] = await rows(usableEnterpriseOauth, { enterprise_oauth_id: toUuid(id) });
    if (row === undefined) throw problem('unknown-enterprise-oauth', { id });
    if (row.provider !== input.provider)
      throw refuseCredential(
        `The enterprise OAuth connection ${JSON.stringify(row.name)} is one of ${row.provider}, and the repository is on ${input.provider}.`,
      );
    const origin = findOauthOrigin(row, config.gitAddresses);
    if (origin !== findOrigin(input.cloneUrl))
      throw refuseCredential(
        `The enterprise OAuth connection ${JSON.stringify(row.name)} is for ${origin}; its tokens are not sent to ${findOrigin(input.cloneUrl)}.`,
      );
  }
}

type NewRepository = BodyOf<typeof createRepository>;
const withoutToken = 'A repository that is hosted here needs no token of another host.';
const refuseCredential = (reason: string) => problem('repository-credential-refused', { reason });

/** @throws `clone-url-refused`, `repository-credential-refused` */
function refuseForHosted(body: NewRepository, token: string | undefined): null {
  if (token !== undefined || body.enterpriseOauthId !== undefined) throw refuseCredential(withoutToken);
  if (body.cloneUrl !== undefined)
    throw problem('clone-url-refused', {
      field: 'body.cloneUrl',
      reason: 'a repository of the provider headgate gets its address from this server. Leave it out.',
    });
  return null;
}

/** @throws `clone-url-required` */
function chooseCloneUrl(body: NewRepository, { githubUrl }: GitAddresses): string {
  if (body.cloneUrl !== undefined) return body.cloneUrl;
  const owner = body.providerParameters?.ownerName;
  if (body.provider === 'github' && owner !== undefined) {
    const [name] = [body.repositoryName].map((each) => each.replace(/\.git$/, ''));
    if (/^[\w.-]+$/.test(owner) && /^[\w.-]+$/.test(name ?? '')) return `${githubUrl}/${owner}/${name}.git`;
  }
  const advice =
    body.provider === 'github'
      ? 'send it, or providerParameters.ownerName and the name of the repository at GitHub as repositoryName.'
      : 'send the address that git clones from, such as https://gitlab.com/acme/pipelines.git.';
  throw problem('clone-url-required', { advice });
}

/** @throws `repository-credential-refused` for a token that cannot be a header or password of Git */
function makeCredential(
  { provider, providerParameters }: Pick<NewRepository, 'provider' | 'providerParameters'>,
  url: string,
  token: string,
): Credential {
  const username = providerParameters?.username;
  if (!/^[\x21-\x7e]+$/.test(token))
    throw refuseCredential('The token in Git-Provider-Access-Token has spaces or characters beyond ASCII.');
  requireUsername(username);
  return createCredential(provider, { url, token: new Secret(token), username });
}

/** @throws `repository-credential-refused` */
function requireUsername(username: string | undefined): void {
  if (username?.includes(':'))
    throw refuseCredential('body.providerParameters.username must not contain a colon.');
}

/** The stored credential with the user that a change of `providerParameters` names. */
function renameUser(
  sealer: Sealer,
  place: { accountId: string; projectId: string },
  { provider, sealed_credential: sealed, provider_parameters: present }: RepositorySettings,
  { providerParameters: expected }: BodyOf<typeof updateRepository>,
): Buffer | null {
  requireUsername(expected?.username);
  // Only `git` has a user. A token of gitlab may be renewed just now, and must not be written over.
  if (
    provider !== 'git' ||
    sealed === null ||
    expected === undefined ||
    expected.username === present.username
  )
    return sealed;
  const stored = unsealCredential(sealer, place, sealed);
  if (stored.kind === 'bearer') return sealed;
  const { origin: url, password: token } = stored;
  return sealCredential(
    sealer,
    place,
    createCredential(provider, { url, token, username: expected.username }),
  );
}

const buildSubject = ({ project_id: id, repository_name: name }: RepositorySettings) => ({
  type: 'repository',
  id,
  name,
});
