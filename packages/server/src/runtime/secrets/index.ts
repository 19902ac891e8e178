export { certificateRoutes } from './certificate.routes.ts';
export { secretLookupRoutes } from './lookup.routes.ts';
export { secretRoutes } from './secret.routes.ts';
export { removeOldSecretWrites, secretWriteBatch } from './secret.store.ts';
export { secretWork } from './secret.work.ts';
