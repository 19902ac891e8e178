import type { Services } from '../../kernel/endpoint/endpoint.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { tokenRoutes } from './token.routes.ts';

export const tokens: Slice<Services> = { name: 'tokens', routes: tokenRoutes };
