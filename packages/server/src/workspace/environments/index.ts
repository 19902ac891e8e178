export { environmentRoutes } from './environment.routes.ts';
export {
  type EnvironmentsWhere,
  environmentsWhere,
  requireEnvironment,
  requireIn,
} from './environment.store.ts';
