import type { Slice } from '../../kernel/slice/slice.ts';
import { type ConnectorTestServices, connectorTestRoutes } from './connector-test.routes.ts';
import { createConnectorTestOwner } from './connector-test.work.ts';

export const connectorTests: Slice<ConnectorTestServices> = {
  name: 'connector-tests',
  routes: connectorTestRoutes,
  workKinds: { 'connector-test': createConnectorTestOwner },
};
