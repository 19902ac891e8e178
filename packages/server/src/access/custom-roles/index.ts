import type { Slice } from '../../kernel/slice/slice.ts';
import { customRoleRoutes } from './custom-role.routes.ts';

export { resolveGrantedWord } from './granted-word.ts';
export { requireHeldPermissions } from './held-permissions.ts';
export { requireLastingSuperAdmin } from './lasting-super-admin.ts';

export const customRoles: Slice = { name: 'custom-roles', routes: customRoleRoutes };
