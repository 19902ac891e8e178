import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import type { WorkTimes } from '../../kernel/work/work.ts';
import { environmentRoutes } from './environment.routes.ts';

export { readProperties } from './connection-property.ts';
export {
  type EnvironmentsWhere,
  findPermittedEnvironments,
  requireEnvironment,
  requirePermissionIn,
} from './environment.store.ts';

export const environments: Slice<{ wakes: Wakes; times: WorkTimes }> = {
  name: 'environments',
  routes: environmentRoutes,
};
