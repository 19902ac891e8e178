import type { Slice } from '../../kernel/slice/slice.ts';
import { createEndedMembershipJob, type EndedMembershipServices } from './ended-memberships.ts';
import { groupRoutes } from './group.routes.ts';
import { groupMemberRoutes } from './group-member.routes.ts';

export {
  deleteGroup,
  insertGroup,
  type LockedGroup,
  lockGroup,
  requireFreeName,
  type StoredGroup,
  selectGroup,
  selectProjectName,
  storedGroup,
  updateGroup,
} from './group.store.ts';
export {
  type ChangedMembers,
  changeMembers,
  findUnknownUsers,
  foreseeChange,
  type Link,
  type MemberChange,
} from './group-member.store.ts';
export { findEnvironmentName, findProject, type GrantedRole, setGrantedRole } from './group-role.store.ts';
export { listRolesAt } from './group-role.ts';
export { describeMemberChange, judgeForecast, listForEvent } from './member-rules.ts';

export const groups: Slice<EndedMembershipServices> = {
  name: 'groups',
  routes(endpoints) {
    groupRoutes(endpoints);
    groupMemberRoutes(endpoints);
  },
  periodic: (services) => [createEndedMembershipJob(services)],
};
