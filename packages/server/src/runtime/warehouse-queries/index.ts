import type { Slice } from '../../kernel/slice/slice.ts';
import { type WarehouseQueryServices, warehouseQueryRoutes } from './warehouse-query.routes.ts';
import { createQueryOwner, createTableReadOwner } from './warehouse-query.work.ts';
import { warehouseTableRoutes } from './warehouse-table.routes.ts';

export {
  beginQuery,
  findHindrance,
  type WarehouseQueryServices,
  waitForQuery,
} from './warehouse-query.routes.ts';
export { queriedPlace } from './warehouse-query.store.ts';

export const warehouseQueries: Slice<WarehouseQueryServices> = {
  name: 'warehouse-queries',
  routes(endpoints, services) {
    warehouseQueryRoutes(endpoints, services);
    warehouseTableRoutes(endpoints, services);
  },
  workKinds: { 'warehouse-query': createQueryOwner, 'table-read': createTableReadOwner },
};
