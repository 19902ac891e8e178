export { variableRoutes } from './variable.routes.ts';
export { variablesAmong } from './variable.store.ts';
