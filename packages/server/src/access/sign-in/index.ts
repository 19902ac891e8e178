import type { Slice } from '../../kernel/slice/slice.ts';
import type { IssuerSignInServices } from './issuer-sign-in.routes.ts';
import { signInRoutes } from './sign-in.routes.ts';
import { signInLinkRoutes } from './sign-in-link.routes.ts';

export { createOperatorLink } from './operator-link.ts';
export {
  createFormOptions,
  pageHeaders,
  renderButton,
  sendElsewhere,
  sendPage,
  sendUnavailable,
} from './sign-in.page.ts';
export { isSignInAddress, isSignInRequest, readReturnPath } from './sign-in-address.ts';
export { linkForm } from './sign-in-link.store.ts';
export { findSignedIn, isStorableName } from './signed-in.ts';

export const signIn: Slice<IssuerSignInServices> = {
  name: 'sign-in',
  routes(endpoints, services) {
    signInRoutes(endpoints, services);
    signInLinkRoutes(endpoints, services);
  },
};
