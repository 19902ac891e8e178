export { propertiesIn } from './connection-property.ts';
export { environmentRoutes } from './environment.routes.ts';
export {
  type EnvironmentsWhere,
  environmentsWhere,
  requireEnvironment,
  requireIn,
} from './environment.store.ts';
