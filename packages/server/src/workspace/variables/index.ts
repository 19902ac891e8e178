import type { Slice } from '../../kernel/slice/slice.ts';
import { variableRoutes } from './variable.routes.ts';

export { variablesAmong } from './variable.store.ts';

export const variables: Slice = { name: 'variables', routes: variableRoutes };
