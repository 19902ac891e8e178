import type { Sealer } from '../../kernel/security/sealed.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { credentialRoutes } from './credential.routes.ts';

export {
  type Client,
  clientSecretPurpose,
  explainUnknownPlaces,
  findClientById,
  generateClientId,
  hasSecret,
  insertCredential,
  isDirectoryManaged,
  recordTokenUse,
  setSecret,
} from './credential.store.ts';
export { type RoleGrant, readGrants, readRoles } from './role.ts';

export const credentials: Slice<{ sealer: Sealer }> = { name: 'credentials', routes: credentialRoutes };
