import {
  createInvitation,
  defaultInvitationMinutes,
  deleteInvitation,
  listInvitations,
} from '@headgate/contract';
import type { Transaction } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import { isDirectoryManaged, readGrants } from '../credentials/index.ts';
import { requireLastingSuperAdmin } from '../custom-roles/index.ts';
import { isSignInAddress } from '../sign-in/index.ts';
import {
  deleteInvitationRow,
  giveSuperAdmin,
  type InvitationRow,
  insertInvitation,
  invitationPage,
  presentInvitation,
} from './invitation.store.ts';

export const invitationPath = '/sign-in/invitations';

/** Writes the mail in the transaction of the invitation. Returns why no mail can be sent to the address. */
export type InviteByMail = (
  tx: Transaction,
  invitation: { accountId: string; invitationId: string; email: string },
  now: Date,
) => Promise<string | undefined>;

export interface InvitationServices {
  sealer: Sealer;
  inviteByMail: InviteByMail;
  config: { publicUrl: string };
}

export function invitationRoutes(
  { read, write }: Endpoints,
  { sealer, inviteByMail, config: { publicUrl } }: InvitationServices,
): void {
  read(listInvitations, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(invitationPage, { limit, offset });
    return { body: { page: query.page, results: rows.map(presentInvitation), size: limit, total } };
  });

  write(createInvitation, async ({ tx, scope, body, now, newId }) => {
    const { accountId, actorId } = scope;
    if (!isSignInAddress(new URL(publicUrl))) throw problem('sign-in-unavailable', { publicUrl });
    const roles = await readGrants(tx, { scope, now }, body.roles ?? []);
    if (await isDirectoryManaged(tx, accountId, now)) throw problem('users-from-directory');
    const minutes = body.validMinutes ?? defaultInvitationMinutes;
    const invitationId = newId();
    const row: InvitationRow = {
      invitation_id: invitationId,
      user_name: body.userName,
      display_name: body.displayName ?? null,
      email: body.email ?? null,
      created_by: actorId,
      created_at: now,
      expires_at: new Date(now.getTime() + minutes * 60_000),
    };
    const groupIds = body.groupIds ?? [];
    if (await giveSuperAdmin(tx, accountId, groupIds))
      await requireLastingSuperAdmin(tx, { scope, now }, null);
    const secret = await insertInvitation(tx, sealer, accountId, { row, groupIds, roles });
    if (body.email !== undefined) {
      const reason = await inviteByMail(tx, { accountId, invitationId, email: body.email }, now);
      if (reason !== undefined) throw problem('invitation-mail-refused', { reason });
    }
    const expiresAt = row.expires_at.toISOString();
    return {
      body: { invitationId, url: `${publicUrl}${invitationPath}/${secret}`, expiresAt },
      location: `/v1/invitations/${invitationId}`,
      events: [
        {
          name: 'invitation-created',
          subject: buildInvitationSubject(row),
          after: { email: body.email, groupIds, roles, expiresAt },
        },
      ],
    };
  });

  write(deleteInvitation, async ({ tx, scope, params, now }) => {
    const row = await deleteInvitationRow(tx, scope.accountId, params.invitationId, now);
    const before = { email: row.email ?? undefined, expiresAt: row.expires_at.toISOString() };
    return { events: [{ name: 'invitation-deleted', subject: buildInvitationSubject(row), before }] };
  });
}

export const buildInvitationSubject = ({ invitation_id: id, user_name: name }: InvitationRow) => ({
  type: 'invitation',
  id,
  name,
});
