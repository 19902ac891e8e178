export { secretReferenceRoutes } from './secret-reference.routes.ts';
export { secretReferencesAmong } from './secret-reference.store.ts';
export { coordinatesOf } from './secret-reference.ts';
