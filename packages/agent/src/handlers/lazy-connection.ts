import type { EnvironmentPlace } from '../host/folders.ts';
import type { WarehouseConnection, WarehouseDriver } from '../warehouses/warehouse.ts';

/** Connects at the first statement: many runs need no warehouse. */
export function createLazyConnection(
  driver: Pick<WarehouseDriver, 'connect'>,
  place: EnvironmentPlace,
): WarehouseConnection {
  let connecting: Promise<WarehouseConnection> | undefined;
  let isClosed = false;
  function connect(): Promise<WarehouseConnection> {
    if (isClosed) throw new Error('this connection to the warehouse is closed');
    connecting ??= driver.connect(place).catch((error) => {
      // The next statement tries again.
      connecting = undefined;
      throw error;
    });
    return connecting;
  }
  return {
    execute: async (sql, session) => (await connect()).execute(sql, session),
    query: async (sql, maxRows, session) => (await connect()).query(sql, maxRows, session),
    async close() {
      isClosed = true;
      const connection = await connecting?.catch(() => undefined);
      await connection?.close();
    },
  };
}
