import { createUserCredential, deleteUserCredential, listUserCredentials } from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { generateSecret, type Sealer } from '../../kernel/security/sealed.ts';
import { clientSecretPurpose, generateClientId } from '../credentials/index.ts';
import { requireLastingSuperAdmin } from '../custom-roles/index.ts';
import { lockUser, userById } from './user.store.ts';
import {
  insertUserCredential,
  presentUserCredential,
  removeUserCredential,
  userCredentialPage,
} from './user-credential.store.ts';

export function userCredentialRoutes({ read, write }: Endpoints, { sealer }: { sealer: Sealer }): void {
  read(listUserCredentials, async ({ params: { userId: id }, query, rows, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { user_id } = requireRow(await rows(userById, { user_id: toUuid(id) }), () =>
      problem('user-not-found', { id }),
    );
    const { rows: some, total } = await page(userCredentialPage, { user_id, limit, offset });
    return { body: { page: query.page, results: some.map(presentUserCredential), size: limit, total } };
  });

  write(createUserCredential, async ({ tx, scope, params, body, now, newId }) => {
    const user = await lockUser(tx, scope, params.userId);
    const { user_id: userId, user_name: name } = user;
    const expiresAt = body.expiresAt === undefined ? null : new Date(body.expiresAt);
    if (expiresAt !== null && expiresAt <= now) throw problem('expiry-in-the-past');
    // The own one ends with the own role.
    if (user.is_super_admin && userId !== scope.actorId)
      await requireLastingSuperAdmin(tx, { scope, now }, expiresAt);
    const secret = generateSecret();
    const [credentialId, clientId] = [newId(), generateClientId()];
    insertUserCredential(tx, scope, {
      user_credential_id: credentialId,
      user_id: userId,
      name: body.name,
      client_id: clientId,
      secret_digest: sealer.digest(secret.reveal(), clientSecretPurpose),
      created_at: now,
      expires_at: expiresAt,
    });
    const after = { credentialId, clientId, name: body.name, expiresAt: expiresAt?.toISOString() };
    return {
      body: { credentialId, clientId, clientSecret: secret.reveal() },
      events: [{ name: 'user-credential-created', subject: { type: 'user', id: userId, name }, after }],
    };
  });

  write(deleteUserCredential, async ({ tx, scope, params: { userId, credentialId } }) => {
    const removed = await removeUserCredential(tx, scope, userId, credentialId);
    const subject = { type: 'user', id: userId, name: removed.user_name };
    const before = { credentialId, clientId: removed.client_id, name: removed.name };
    return { events: [{ name: 'user-credential-deleted', subject, before }] };
  });
}
