import type { Sealer } from '../../kernel/security/sealed.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { userRoutes } from './user.routes.ts';
import { userCredentialRoutes } from './user-credential.routes.ts';

export {
  lockSuperAdminsOfGroup,
  lockSuperAdminsOfUser,
  requireOtherSuperAdmin,
} from './super-admin.store.ts';
export {
  foldName,
  insertUser,
  type LockedUser,
  lockUser,
  presentUser,
  type StoredUser,
  storedUser,
  updateUser,
  userById,
  userColumns,
  userRow,
} from './user.store.ts';
export { removeUser, requireOtherIfSuperAdmin } from './user-deletion.ts';

export const users: Slice<{ sealer: Sealer }> = {
  name: 'users',
  routes(endpoints, services) {
    userRoutes(endpoints);
    userCredentialRoutes(endpoints, services);
  },
};
