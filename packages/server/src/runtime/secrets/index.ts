import { createRemovalJob } from '../../kernel/retention/periodic-job.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { certificateRoutes } from './certificate.routes.ts';
import { secretLookupRoutes } from './lookup.routes.ts';
import { type SecretServices, secretRoutes } from './secret.routes.ts';
import { removeOldSecretWrites, secretWriteBatch } from './secret.store.ts';
import { createSecretWriteOwner } from './secret.work.ts';

export const secrets: Slice<SecretServices> = {
  name: 'secrets',
  routes(endpoints, services) {
    secretRoutes(endpoints, services);
    certificateRoutes(endpoints, services);
    secretLookupRoutes(endpoints, services);
  },
  workKinds: { 'secret-write': createSecretWriteOwner },
  periodic: (services) => [
    createRemovalJob(services, {
      kind: 'secret-writes',
      batch: secretWriteBatch,
      remove: removeOldSecretWrites,
    }),
  ],
};
