import type { Slice } from '../../kernel/slice/slice.ts';
import { type EnterpriseOauthRouteServices, enterpriseOauthRoutes } from './enterprise-oauth.routes.ts';

export { mayUseOauth, usableEnterpriseOauth } from './enterprise-oauth.store.ts';
export { createOauthTokens, findOauthOrigin, type OauthTokens } from './oauth-tokens.ts';

export const enterpriseOauths: Slice<EnterpriseOauthRouteServices> = {
  name: 'enterprise-oauths',
  routes: enterpriseOauthRoutes,
};
