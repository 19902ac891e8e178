export { variableRoutes } from './variable.routes.ts';
