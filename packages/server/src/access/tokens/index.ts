import type { Slice } from '../../kernel/slice/slice.ts';
import { type TokenServices, tokenRoutes } from './token.routes.ts';

export {
  type ClientAuthentication,
  ClientRefusal,
  createClientAuthentication,
} from './client-authentication.ts';

export const tokens: Slice<TokenServices> = { name: 'tokens', routes: tokenRoutes };
