import type { Slice } from '../../kernel/slice/slice.ts';
import { passkeyRoutes } from './passkey.routes.ts';
import { type PasskeyServices, passkeySignInRoutes } from './passkey-sign-in.routes.ts';

export const passkeys: Slice<PasskeyServices> = {
  name: 'passkeys',
  routes(endpoints, services) {
    passkeyRoutes(endpoints);
    passkeySignInRoutes(endpoints, services);
  },
};
