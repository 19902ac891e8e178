export { connectionRoutes } from './connection.routes.ts';
