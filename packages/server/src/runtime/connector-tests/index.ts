import { createRemovalJob } from '../../kernel/retention/periodic-job.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { type ConnectorTestServices, connectorTestRoutes } from './connector-test.routes.ts';
import { connectorTestBatch, removeOldConnectorTests } from './connector-test.store.ts';
import { createConnectorTestOwner } from './connector-test.work.ts';

export const connectorTests: Slice<ConnectorTestServices> = {
  name: 'connector-tests',
  routes: connectorTestRoutes,
  workKinds: { 'connector-test': createConnectorTestOwner },
  periodic: (services) => [
    createRemovalJob(services, {
      kind: 'connector-tests',
      batch: connectorTestBatch,
      remove: removeOldConnectorTests,
    }),
  ],
};
