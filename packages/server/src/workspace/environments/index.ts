export { environmentRoutes } from './environment.routes.ts';
export {
  type EnvironmentsWhere,
  environmentByName,
  environmentsWhere,
  requireEnvironment,
  requireIn,
} from './environment.store.ts';
