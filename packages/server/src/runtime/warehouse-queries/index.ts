import type { Slice } from '../../kernel/slice/slice.ts';
import { type WarehouseQueryServices, warehouseQueryRoutes } from './warehouse-query.routes.ts';
import { createQueryOwner } from './warehouse-query.work.ts';

export {
  beginQuery,
  findHindrance,
  type WarehouseQueryServices,
  waitForQuery,
} from './warehouse-query.routes.ts';
export { queriedPlace } from './warehouse-query.store.ts';

export const warehouseQueries: Slice<WarehouseQueryServices> = {
  name: 'warehouse-queries',
  routes: warehouseQueryRoutes,
  workKinds: { 'warehouse-query': createQueryOwner },
};
