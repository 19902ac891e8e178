import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import type { WorkTimes } from '../../kernel/work/work.ts';
import { environmentRoutes } from './environment.routes.ts';

export { propertiesIn } from './connection-property.ts';
export {
  type EnvironmentsWhere,
  environmentsWhere,
  requireEnvironment,
  requireIn,
} from './environment.store.ts';

export const environments: Slice<{ wakes: Wakes; times: WorkTimes }> = {
  name: 'environments',
  routes: environmentRoutes,
};
