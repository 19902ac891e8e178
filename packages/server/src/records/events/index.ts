export { eventRetention } from './event.retention.ts';
export { eventRoutes } from './event.routes.ts';
