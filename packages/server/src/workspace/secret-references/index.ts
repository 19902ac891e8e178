export { secretReferenceRoutes } from './secret-reference.routes.ts';
