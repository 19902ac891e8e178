import {
  type BodyOf,
  createIdentityIssuer,
  deleteIdentityIssuer,
  getIdentityIssuer,
  listIdentityIssuers,
  testIdentityIssuer,
  updateIdentityIssuer,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { isLoopbackHost } from '../../kernel/security/loopback-host.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import { buildEndEvent, endSessionsOfIssuer } from '../sessions/index.ts';
import {
  deleteIssuer,
  type IssuerRow,
  insertIssuer,
  issuerById,
  issuerPage,
  lockIssuer,
  presentIssuer,
  renderIssuerEtag,
  sealClientSecret,
  updateIssuer,
} from './identity-issuer.store.ts';
import { IssuerFailed, type OpenidClient } from './openid.ts';

export interface IssuerRouteServices {
  sealer: Sealer;
  openid: OpenidClient;
  config: { publicUrl: string };
}

export function identityIssuerRoutes(
  { read, write }: Endpoints,
  { sealer, openid, config: { publicUrl } }: IssuerRouteServices,
): void {
  read(listIdentityIssuers, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(issuerPage, { limit, offset });
    const results = rows.map((row) => presentIssuer(row, publicUrl));
    return { body: { page: query.page, results, size: limit, total } };
  });

  read(getIdentityIssuer, async ({ params: { identityIssuerId: id }, rows }) => {
    const found = await rows(issuerById, { identity_issuer_id: toUuid(id) });
    const row = requireRow(found, () => problem('identity-issuer-not-found', { id }));
    return { body: presentIssuer(row, publicUrl), etag: renderIssuerEtag(row) };
  });

  write(createIdentityIssuer, async ({ tx, body, scope, now, newId }) => {
    const id = newId();
    const row: IssuerRow = {
      ...toColumns(body),
      identity_issuer_id: id,
      client_secret_sealed: seal(scope.accountId, id, body.clientSecret ?? null),
      version: 1,
      created_at: now,
      updated_at: now,
    };
    await insertIssuer(tx, scope.accountId, row);
    const after = presentIssuer(row, publicUrl);
    return {
      body: after,
      etag: renderIssuerEtag(row),
      location: `/v1/identity-issuers/${id}`,
      events: [{ name: 'identity-issuer-created', subject: buildSubject(row), after }],
    };
  });

  write(updateIdentityIssuer, async ({ tx, params, headers, body, scope, now }) => {
    const stored = await lockIssuer(tx, scope.accountId, params.identityIssuerId);
    requireMatch(headers['If-Match'], renderIssuerEtag(stored));
    const { clientSecret } = body;
    const { identity_issuer_id: id, client_secret_sealed: sealed } = stored;
    // Nobody may have the stored secret sent to an address of their choice.
    if (body.issuer !== stored.issuer && clientSecret === undefined && sealed !== null)
      throw problem('identity-issuer-unusable', {
        reason: 'body.issuer is another issuer than before: send its clientSecret too, or null for none.',
      });
    const row: IssuerRow = {
      ...stored,
      ...toColumns(body),
      client_secret_sealed: clientSecret === undefined ? sealed : seal(scope.accountId, id, clientSecret),
      version: stored.version + 1,
      updated_at: now,
    };
    updateIssuer(tx, scope.accountId, stored, row);
    const ended = row.enabled
      ? []
      : await endSessionsOfIssuer(tx, { account_id: scope.accountId, identity_issuer_id: id });
    const states = { before: presentIssuer(stored, publicUrl), after: presentIssuer(row, publicUrl) };
    return {
      body: states.after,
      etag: renderIssuerEtag(row),
      events: [
        ...ended.map((session) => buildEndEvent(session, 'issuer disabled')),
        { name: 'identity-issuer-updated', subject: buildSubject(row), ...states },
      ],
    };
  });

  function seal(accountId: string, id: string, secret: string | null): Buffer | null {
    return secret === null ? null : sealClientSecret(sealer, accountId, id, secret);
  }

  read(testIdentityIssuer, async ({ params: { identityIssuerId: id }, rows }) => {
    const found = await rows(issuerById, { identity_issuer_id: toUuid(id) });
    const { issuer, client_id } = requireRow(found, () => problem('identity-issuer-not-found', { id }));
    try {
      await openid.check({ issuer, client_id });
      return { body: { usable: true } };
    } catch (failure) {
      if (!(failure instanceof IssuerFailed)) throw failure;
      return { body: { usable: false, reason: failure.message } };
    }
  });

  write(deleteIdentityIssuer, async ({ tx, scope, params, headers }) => {
    const stored = await lockIssuer(tx, scope.accountId, params.identityIssuerId);
    requireMatch(headers['If-Match'], renderIssuerEtag(stored));
    const { identity_issuer_id } = stored;
    const ended = await endSessionsOfIssuer(tx, { account_id: scope.accountId, identity_issuer_id });
    deleteIssuer(tx, scope.accountId, identity_issuer_id);
    const before = presentIssuer(stored, publicUrl);
    return {
      events: [
        ...ended.map((session) => buildEndEvent(session, 'issuer deleted')),
        { name: 'identity-issuer-deleted', subject: buildSubject(stored), before },
      ],
    };
  });
}

type Settings = Omit<BodyOf<typeof createIdentityIssuer>, 'clientSecret'>;

/** Throws `identity-issuer-unusable`. */
function toColumns(body: Settings) {
  requireAddress(body.issuer);
  const scopes = body.scopes ?? ['openid', 'profile', 'email'];
  return {
    name: body.name,
    issuer: body.issuer,
    client_id: body.clientId,
    scopes: scopes.includes('openid') ? scopes : ['openid', ...scopes],
    subject_claim: body.subjectClaim ?? 'sub',
    user_claim: body.userClaim ?? 'email',
    user_attribute: body.userAttribute ?? 'userName',
    domains: body.domains ?? [],
    creates_users: body.createUsers ?? false,
    groups_claim: body.groupsClaim ?? null,
    enabled: body.enabled ?? true,
  };
}

/** Throws `identity-issuer-unusable`. */
function requireAddress(issuer: string): void {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  const isAllowed = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname));
  if (url === undefined || !isAllowed || url.username + url.password + url.search + url.hash !== '')
    throw problem('identity-issuer-unusable', {
      reason: `body.issuer must be an https address without user, password and query, such as https://login.example.com; it is ${JSON.stringify(issuer.slice(0, 200))}.`,
    });
}

const buildSubject = ({ identity_issuer_id: id, name }: IssuerRow) => ({ type: 'identity-issuer', id, name });
