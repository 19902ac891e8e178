import type { Slice } from '../../kernel/slice/slice.ts';
import { connectionRoutes } from './connection.routes.ts';

export { listConnectionsNaming, secretPlaces } from './named-secrets.store.ts';

export { selectWarehouse } from './work-warehouse.store.ts';

export const connections: Slice = { name: 'connections', routes: connectionRoutes };
