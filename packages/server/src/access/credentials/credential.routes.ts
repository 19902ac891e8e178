import { createCredential, deleteCredential, listCredentials, rotateCredential } from '@headgate/contract';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { generateSecret, type Sealer } from '../../kernel/security/sealed.ts';
import { requireLastingSuperAdmin } from '../custom-roles/index.ts';
import {
  credentialPage,
  generateClientId,
  insertCredential,
  insertRoleGrants,
  lockCredential,
  presentCredential,
  removeCredential,
  rotateSecret,
} from './credential.store.ts';
import { readRoles } from './role.ts';

export function credentialRoutes({ read, write }: Endpoints, { sealer }: { sealer: Sealer }): void {
  read(listCredentials, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(credentialPage, { limit, offset });
    return { body: { page: query.page, results: rows.map(presentCredential), size: limit, total } };
  });

  write(createCredential, async ({ tx, scope, body, now, newId }) => {
    const { accountRole, grants } = await readRoles(tx, { scope, now }, body);
    const expiresAt = body.expiresAt === undefined ? undefined : new Date(body.expiresAt);
    if (expiresAt !== undefined && expiresAt <= now) throw problem('expiry-in-the-past');
    if (accountRole === 'SUPER_ADMIN') await requireLastingSuperAdmin(tx, { scope, now }, expiresAt ?? null);
    const secret = generateSecret();
    const made = {
      credentialId: newId(),
      name: body.name,
      clientId: generateClientId(),
      secret,
      accountRole,
      expiresAt,
    };
    insertCredential(tx, sealer, scope.accountId, made, now);
    insertRoleGrants(tx, scope, made.credentialId, grants, now);
    const { credentialId, name, clientId } = made;
    const after = { clientId, role: accountRole, roles: grants, expiresAt };
    return {
      body: { credentialId, clientId, clientSecret: secret.reveal() },
      events: [
        { name: 'credential-created', subject: { type: 'credential', id: credentialId, name }, after },
      ],
    };
  });

  write(rotateCredential, async ({ tx, scope, params, body, now }) => {
    const stored = await lockCredential(tx, scope, params.credentialId);
    if (stored.account_role === 'SUPER_ADMIN')
      await requireLastingSuperAdmin(tx, { scope, now }, stored.expires_at);
    const secret = generateSecret();
    const previousUntil = new Date(now.getTime() + (body.overlapSeconds ?? 0) * 1_000);
    rotateSecret(tx, sealer, scope, { credentialId: stored.credential_id, secret, previousUntil });
    const subject = { type: 'credential', id: stored.credential_id, name: stored.name };
    return {
      body: { credentialId: stored.credential_id, clientId: stored.client_id, clientSecret: secret.reveal() },
      events: [
        { name: 'credential-rotated', subject, after: { previousSecretUntil: previousUntil.toISOString() } },
      ],
    };
  });

  write(deleteCredential, async ({ tx, scope, params }) => {
    const removed = await removeCredential(tx, scope, params.credentialId);
    const subject = { type: 'credential', id: removed.credential_id, name: removed.name };
    const before = { clientId: removed.client_id, role: removed.account_role };
    return { events: [{ name: 'credential-deleted', subject, before }] };
  });
}
