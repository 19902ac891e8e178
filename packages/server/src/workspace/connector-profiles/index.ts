import type { Slice } from '../../kernel/slice/slice.ts';
import { connectorProfileRoutes } from './connector-profile.routes.ts';

export const connectorProfiles: Slice = { name: 'connector-profiles', routes: connectorProfileRoutes };
