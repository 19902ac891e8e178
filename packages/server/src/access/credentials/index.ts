export { credentialRoutes } from './credential.routes.ts';
export {
  type Client,
  clientById,
  clientSecretPurpose,
  hasSecret,
  insertCredential,
  newClientId,
  noteTokenGiven,
  setSecret,
} from './credential.store.ts';
