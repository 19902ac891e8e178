import type { Slice } from '../../kernel/slice/slice.ts';
import { type ConnectionTestServices, connectionTestRoutes } from './connection-test.routes.ts';
import { createConnectionTestOwner } from './connection-test.work.ts';

export const connectionTests: Slice<ConnectionTestServices> = {
  name: 'connection-tests',
  routes: connectionTestRoutes,
  workKinds: { 'connection-test': createConnectionTestOwner },
};
