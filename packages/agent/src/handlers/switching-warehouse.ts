import type { WarehouseConnection } from '../warehouses/warehouse.ts';

/** A connection that a run can exchange for a scratch database when it turns out to be a test. */
export interface SwitchingWarehouse extends WarehouseConnection {
  /** Closes the present connection. */
  switchTo(next: { warehouse: WarehouseConnection; close(): Promise<void> }): Promise<void>;
}

export function createSwitchingWarehouse(first: WarehouseConnection): SwitchingWarehouse {
  let warehouse = first;
  let close = () => first.close();
  let isClosed = false;
  return {
    execute: (sql, session, limit) => warehouse.execute(sql, session, limit),
    query: (sql, maxRows, session, limit) => warehouse.query(sql, maxRows, session, limit),
    queryText: (sql, maxRows, session, limit) => warehouse.queryText(sql, maxRows, session, limit),
    async close() {
      isClosed = true;
      await close();
    },
    async switchTo(next) {
      await close();
      warehouse = next.warehouse;
      close = () => next.close();
      // The run was killed meanwhile.
      if (isClosed) await close();
    },
  };
}
