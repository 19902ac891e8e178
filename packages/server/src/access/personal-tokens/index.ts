import type { Sealer } from '../../kernel/security/sealed.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { personalTokenRoutes } from './personal-token.routes.ts';

export { buildRevokeEvent, removePersonalToken } from './personal-token.store.ts';

export const personalTokens: Slice<{ sealer: Sealer }> = {
  name: 'personal-tokens',
  routes: personalTokenRoutes,
};
