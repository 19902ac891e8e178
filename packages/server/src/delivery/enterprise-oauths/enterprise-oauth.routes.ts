import {
  createEnterpriseOauth,
  deleteEnterpriseOauth,
  listEnterpriseOauths,
  updateEnterpriseOauth,
} from '@headgate/contract';
import { trimEnd } from '@headgate/pipelines';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { type EgressGuard, EgressRefused, EgressUnresolved } from '../../kernel/security/egress.ts';
import { type Sealer, Secret } from '../../kernel/security/sealed.ts';
import {
  deleteEnterpriseOauthRow,
  type EnterpriseOauthRow,
  enterpriseOauthPage,
  insertEnterpriseOauth,
  lockEnterpriseOauth,
  replaceProjects,
  requireUnused,
} from './enterprise-oauth.store.ts';
import { presentEnterpriseOauth, requireUsable, sealSecrets } from './enterprise-oauth.ts';
import type { OauthAddresses } from './oauth-tokens.ts';

export interface EnterpriseOauthRouteServices {
  sealer: Sealer;
  egress: EgressGuard;
  config: { gitAddresses: OauthAddresses };
}

export function enterpriseOauthRoutes(
  { read, write, long }: Endpoints,
  { sealer, egress, config }: EnterpriseOauthRouteServices,
): void {
  read(listEnterpriseOauths, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(enterpriseOauthPage, { limit, offset });
    return { body: { page: query.page, results: rows.map(presentEnterpriseOauth), size: limit, total } };
  });

  // Long, because the check of an address asks a name server.
  long(createEnterpriseOauth, async ({ page, write: commit, body, scope, now, newId }) => {
    await page(enterpriseOauthPage, { limit: 0, offset: 0 });
    requireUsable(body);
    const baseUrl =
      body.baseUrl === undefined ? null : await requireBaseUrl(egress, config.gitAddresses, body.baseUrl);
    return commit(JSON.stringify(body), async (tx) => {
      const row: EnterpriseOauthRow = {
        enterprise_oauth_id: newId(),
        name: body.name,
        provider: body.provider,
        base_url: baseUrl,
        client_id: body.clientId,
        tenant_id: body.tenantId ?? null,
        installation_id: body.installationId ?? null,
        created_by: scope.actorId,
        created_at: now,
        projects: (body.projects ?? []).toSorted(),
      };
      const secrets = {
        ...(body.clientSecret === undefined ? {} : { clientSecret: new Secret(body.clientSecret) }),
        ...(body.privateKey === undefined ? {} : { privateKey: new Secret(body.privateKey) }),
      };
      const sealed = sealSecrets(sealer, scope.accountId, row.enterprise_oauth_id, secrets);
      await insertEnterpriseOauth(tx, scope.accountId, row, sealed);
      const after = presentEnterpriseOauth(row);
      return {
        body: after,
        location: `/v1/enterprise-oauths/${row.enterprise_oauth_id}`,
        events: [{ name: 'enterprise-oauth-created', subject: buildSubject(row), after }],
      };
    });
  });

  write(updateEnterpriseOauth, async ({ tx, scope, params, body }) => {
    const stored = await lockEnterpriseOauth(tx, scope.accountId, params.enterpriseOauthId);
    const id = stored.enterprise_oauth_id;
    const projects = body.projects.toSorted();
    const removed = stored.projects.filter((each) => !projects.includes(each));
    if (removed.length > 0) await requireUnused(tx, scope.accountId, id, removed);
    replaceProjects(tx, scope.accountId, id, projects);
    const after = presentEnterpriseOauth({ ...stored, projects });
    const before = presentEnterpriseOauth(stored);
    return {
      body: after,
      events: [{ name: 'enterprise-oauth-updated', subject: buildSubject(stored), before, after }],
    };
  });

  write(deleteEnterpriseOauth, async ({ tx, scope, params }) => {
    const row = await lockEnterpriseOauth(tx, scope.accountId, params.enterpriseOauthId);
    await requireUnused(tx, scope.accountId, row.enterprise_oauth_id, null);
    tx.send(deleteEnterpriseOauthRow, {
      account_id: scope.accountId,
      enterprise_oauth_id: row.enterprise_oauth_id,
    });
    const before = presentEnterpriseOauth(row);
    return { events: [{ name: 'enterprise-oauth-deleted', subject: buildSubject(row), before }] };
  });
}

const buildSubject = ({ enterprise_oauth_id: id, name }: EnterpriseOauthRow) => ({
  type: 'enterprise-oauth',
  id,
  name,
});

/** @throws `enterprise-oauth-unusable`, `clone-url-refused` */
async function requireBaseUrl(egress: EgressGuard, addresses: OauthAddresses, text: string): Promise<string> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (
    url === undefined ||
    !/^https?:$/.test(url.protocol) ||
    url.username + url.password + url.search + url.hash !== ''
  )
    throw problem('enterprise-oauth-unusable', {
      reason:
        'body.baseUrl must be an https address without user, password and query, such as https://github.example.com.',
    });
  const base = trimEnd(url.href, '/');
  if (Object.values(addresses).includes(base)) return base;
  try {
    await egress.check(base);
  } catch (failure) {
    if (!(failure instanceof EgressRefused)) throw failure;
    // Checked again at each use.
    if (!(failure instanceof EgressUnresolved))
      throw problem('clone-url-refused', { field: 'body.baseUrl', reason: failure.message });
  }
  return base;
}
