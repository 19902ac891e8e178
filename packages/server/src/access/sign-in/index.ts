import type { Slice } from '../../kernel/slice/slice.ts';
import type { IssuerSignInServices } from './issuer-sign-in.routes.ts';
import { signInRoutes } from './sign-in.routes.ts';
import { signInLinkRoutes } from './sign-in-link.routes.ts';

export { createOperatorLink } from './operator-link.ts';
export { sendPage } from './sign-in.page.ts';
export { isSignInRequest } from './sign-in-address.ts';

export const signIn: Slice<IssuerSignInServices> = {
  name: 'sign-in',
  routes(endpoints, services) {
    signInRoutes(endpoints, services);
    signInLinkRoutes(endpoints, services);
  },
};
