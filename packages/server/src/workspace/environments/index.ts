import type { Slice } from '../../kernel/slice/slice.ts';
import { environmentRoutes } from './environment.routes.ts';

export { readProperties } from './connection-property.ts';
export { buildEnvironmentEvent } from './environment.routes.ts';
export {
  deleteEnvironmentRow,
  type EnvironmentsWhere,
  findPermittedEnvironments,
  lockEnvironment,
  presentEnvironment,
  renderEnvironmentEtag,
  requireEnvironment,
  requirePermissionIn,
  selectGeneration,
} from './environment.store.ts';
export { deleteSchedulesIn } from './environment-schedules.store.ts';

export const environments: Slice<unknown> = {
  name: 'environments',
  routes: environmentRoutes,
};
