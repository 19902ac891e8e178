import type { Slice } from '../../kernel/slice/slice.ts';
import { type AcceptanceServices, acceptanceRoutes } from './acceptance.routes.ts';
import { invitationRetention } from './invitation.retention.ts';
import { type InvitationServices, invitationPath, invitationRoutes } from './invitation.routes.ts';

export type { InviteByMail } from './invitation.routes.ts';
export { makeInvitationSecret } from './invitation.store.ts';
export { invitationPath };

export const invitations: Slice<AcceptanceServices & InvitationServices> = {
  name: 'invitations',
  routes(endpoints, services) {
    invitationRoutes(endpoints, services);
    acceptanceRoutes(endpoints, services);
  },
  retention: invitationRetention,
};
