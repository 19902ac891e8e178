import { createSignInLink, defaultLinkMinutes } from '@headgate/contract';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import { requireLastingSuperAdmin } from '../custom-roles/index.ts';
import { lockUser } from '../users/index.ts';
import { isSignInAddress } from './sign-in-address.ts';
import { replaceLink } from './sign-in-link.store.ts';

export interface LinkServices {
  sealer: Sealer;
  config: { publicUrl: string };
}

export const linkPath = '/sign-in/links';

export function signInLinkRoutes(
  { write }: Endpoints,
  { sealer, config: { publicUrl } }: LinkServices,
): void {
  write(createSignInLink, async ({ tx, scope, params, body, now }) => {
    if (!isSignInAddress(new URL(publicUrl))) throw problem('sign-in-unavailable', { publicUrl });
    const user = await lockUser(tx, scope, params.userId);
    const { user_id: userId, user_name: name, active } = user;
    if (!active) throw problem('user-inactive', { name });
    if (user.is_super_admin && userId !== scope.actorId)
      await requireLastingSuperAdmin(tx, { scope, now }, null);
    const minutes = body.validMinutes ?? defaultLinkMinutes;
    const expiresAt = new Date(now.getTime() + minutes * 60_000);
    const { accountId } = scope;
    const secret = replaceLink(tx, sealer, {
      accountId,
      userId,
      ofLoopback: false,
      createdAt: now,
      expiresAt,
    });
    const after = { expiresAt: expiresAt.toISOString() };
    return {
      body: { url: `${publicUrl}${linkPath}/${secret.reveal()}`, ...after },
      events: [{ name: 'sign-in-link-created', subject: { type: 'user', id: userId, name }, after }],
    };
  });
}
