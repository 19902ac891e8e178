export { eventRoutes } from './event.routes.ts';
