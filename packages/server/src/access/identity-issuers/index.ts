import type { Slice } from '../../kernel/slice/slice.ts';
import { type IssuerRouteServices, identityIssuerRoutes } from './identity-issuer.routes.ts';

export {
  findEnabledIssuer,
  findOfferedIssuers,
  hasEnabledIssuer,
  holdIssuer,
  type IssuerOfAccount,
} from './identity-issuer.store.ts';
export {
  type Claims,
  createOpenidClient,
  IssuerFailed,
  type OpenidClient,
  type PendingSignIn,
} from './openid.ts';

export const identityIssuers: Slice<IssuerRouteServices> = {
  name: 'identity-issuers',
  routes: identityIssuerRoutes,
};
