/** Repositories as the API shows them, and the rules of their addresses. */

import type { Repository } from '@headgate/contract';
import { trimEnd } from '@headgate/pipelines';
import { invalidRequest, problem } from '../../kernel/http/problems.ts';
import { type EgressGuard, EgressRefused, EgressUnresolved } from '../../kernel/security/egress.ts';
import { findBranchNameFault } from '../git/index.ts';
import { explainAddressScheme } from '../git-remotes/index.ts';
import { listProtected } from '../hosted-repositories/index.ts';
import { presentRule } from './delivery-rule.store.ts';
import type { RepositoryRow, RepositorySettings } from './repository.store.ts';

export interface Addresses {
  publicUrl: string;
}

export function presentRepository(
  row: RepositorySettings & Partial<Pick<RepositoryRow, 'delivery_rules'>>,
  { publicUrl }: Addresses,
): Repository {
  const repository: Repository = {
    provider: row.provider,
    repositoryName: row.repository_name,
    cloneUrl: row.clone_url ?? `${publicUrl}/git/${row.project_id}.git`,
    providerParameters: row.provider_parameters,
    protectedBranches: [
      ...listProtected({ defaultBranch: row.default_branch, protectedBranches: row.protected_branches }),
    ],
    deliveryRules: (row.delivery_rules ?? []).map(presentRule),
    hasToken: row.sealed_credential !== null,
    createdBy: row.created_by,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
  if (row.default_branch !== null) repository.defaultBranch = row.default_branch;
  if (row.enterprise_oauth_id !== null) repository.enterpriseOauthId = row.enterprise_oauth_id;
  const { credential_expires_at: expiresAt } = row;
  if (expiresAt !== null) repository.tokenExpiresAt = expiresAt.toISOString();
  if (row.credential_problem !== null) repository.tokenProblem = row.credential_problem;
  return repository;
}

export function requireBranchName(name: string): void {
  const reason = findBranchNameFault(name);
  if (reason !== undefined) throw problem('invalid-branch-name', { name, reason: `${reason}.` });
}

/**
 * The address in the form that is stored. Whether it can be reached is found at its first use; an address that
 * the server would never connect to is refused now.
 * @throws 400 for what is no clone URL, `clone-url-refused`
 */
export async function requireCloneUrl(
  { egress, trustedOrigins }: { egress: EgressGuard; trustedOrigins: ReadonlySet<string> },
  text: string,
): Promise<string> {
  const url = parseCloneUrl(text);
  if (!trustedOrigins.has(url.origin)) {
    try {
      await egress.check(url.href);
    } catch (failure) {
      // The guard checks again at each use; the name of a host may be registered later.
      if (failure instanceof EgressRefused && !(failure instanceof EgressUnresolved))
        throw problem('clone-url-refused', { field: 'body.cloneUrl', reason: failure.message });
      if (!(failure instanceof EgressRefused)) throw failure;
    }
  }
  return url.href;
}

function parseCloneUrl(text: string): URL {
  const refuse = (detail: string) =>
    invalidRequest([{ field: 'body.cloneUrl', pointer: '/cloneUrl', detail }]);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw refuse(explainAddressScheme(text));
  if (url.username !== '' || url.password !== '')
    throw refuse(
      'contains a user or a password; leave them out, and send the token in the header Git-Provider-Access-Token',
    );
  if (url.search !== '' || url.hash !== '') throw refuse('has a query or a fragment, which no clone URL has');
  if (/^\/+$/.test(url.pathname)) throw refuse('is the address of a host, not of a repository');
  url.pathname = trimEnd(url.pathname, '/');
  return url;
}
