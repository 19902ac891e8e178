export { connectionRoutes } from './connection.routes.ts';
export { connectionsNaming } from './named-secrets.store.ts';
