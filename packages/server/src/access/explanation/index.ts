import type { Slice } from '../../kernel/slice/slice.ts';
import { accessRoutes } from './access.routes.ts';

export const explanation: Slice = { name: 'explanation', routes: accessRoutes };
