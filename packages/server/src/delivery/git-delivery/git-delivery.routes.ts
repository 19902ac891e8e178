import { randomBytes } from 'node:crypto';
import { createGitHookSecret, listGitReviews, type RepositoryProvider } from '@headgate/contract';
import { statement } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { type Sealer, Secret } from '../../kernel/security/sealed.ts';
import { lockRepository } from '../repositories/index.ts';
import { hookPath } from './hook.routes.ts';
import { getHookSecretPurpose } from './hook.store.ts';
import { presentReview, reviewPage } from './review-page.ts';

export interface GitDeliveryServices {
  sealer: Sealer;
  config: { publicUrl: string };
}

const storeSecret = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', sealed_hook_secret: 'bytea', now: 'timestamptz' },
  },
  `
  update repository set sealed_hook_secret = $sealed_hook_secret, updated_at = $now
  where account_id = $account_id and project_id = $project_id`,
);

/** Where each provider shows the secret. */
const headersOf: Partial<Record<RepositoryProvider, string[]>> = {
  github: ['X-Hub-Signature-256'],
  gitlab: ['X-Gitlab-Token', 'webhook-signature'],
  'azure-devops': ['Authorization'],
};

const secretBytes = 32;

export function gitDeliveryRoutes({ write, read }: Endpoints, { sealer, config }: GitDeliveryServices): void {
  write(createGitHookSecret, async ({ tx, scope, params, now }) => {
    const { projectId } = params;
    const place = { account_id: scope.accountId, project_id: projectId };
    const { provider, repository_name: name } = await lockRepository(tx, { ...scope, projectId });
    const headers = headersOf[provider];
    if (headers === undefined) throw problem('hook-not-supported', { provider });
    // The form that Standard Webhooks asks for; others take any text.
    const secret = new Secret(`whsec_${randomBytes(secretBytes).toString('base64')}`);
    const sealed_hook_secret = sealer.seal(secret, getHookSecretPurpose(projectId));
    tx.send(storeSecret, { ...place, sealed_hook_secret, now });
    const subject = { type: 'repository', id: projectId, name };
    const url = `${config.publicUrl}${hookPath}/${projectId}`;
    return {
      body: { url, secret: secret.reveal(), headers },
      events: [{ name: 'git-hook-secret-created', projectId, subject, after: { provider, url } }],
    };
  });

  read(listGitReviews, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const branch_name = query.branchName ?? null;
    const { rows, total } = await page(reviewPage, { branch_name, limit, offset });
    return { body: { page: query.page, results: rows.map(presentReview), size: limit, total } };
  });
}
