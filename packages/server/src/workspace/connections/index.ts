export { connectionRoutes } from './connection.routes.ts';
export { connectionsNaming, secretPlaces } from './named-secrets.store.ts';
