import { createRemovalJob } from '../../kernel/retention/periodic-job.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { type SecretCheckServices, secretCheckRoutes } from './secret-check.routes.ts';
import { removeOldSecretChecks, secretCheckBatch } from './secret-check.store.ts';
import { createSecretCheckOwner } from './secret-check.work.ts';

export const secretChecks: Slice<SecretCheckServices> = {
  name: 'secret-checks',
  routes: secretCheckRoutes,
  workKinds: { 'secret-check': createSecretCheckOwner },
  periodic: (services) => [
    createRemovalJob(services, {
      kind: 'secret-checks',
      batch: secretCheckBatch,
      remove: removeOldSecretChecks,
    }),
  ],
};
