export { secretCheckRoutes } from './secret-check.routes.ts';
export { removeOldSecretChecks, secretCheckBatch } from './secret-check.store.ts';
export { secretCheckWork } from './secret-check.work.ts';
