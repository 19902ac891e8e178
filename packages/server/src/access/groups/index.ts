import type { Slice } from '../../kernel/slice/slice.ts';
import { groupRoutes } from './group.routes.ts';
import { groupMemberRoutes } from './group-member.routes.ts';

export const groups: Slice = {
  name: 'groups',
  routes(endpoints) {
    groupRoutes(endpoints);
    groupMemberRoutes(endpoints);
  },
};
