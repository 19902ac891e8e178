import { createDuckdbDriver } from './duckdb.ts';
import type { WarehouseConnection, WarehouseDriver, WarehouseKind, WarehouseSettings } from './warehouse.ts';

const drivers: Record<WarehouseKind, (settings: WarehouseSettings) => WarehouseDriver> = {
  duckdb: createDuckdbDriver,
};

/** Stands for an unsupported warehouse. A run that needs a warehouse is refused before its first step. */
export function createUnusableWarehouse(kind: string): WarehouseConnection {
  const refuse = async (): Promise<never> => {
    throw new Error(
      `this agent does not support the project's warehouse, ${kind}: use a project with a supported warehouse`,
    );
  };
  return { execute: refuse, query: refuse, queryText: refuse, close: async () => undefined };
}

export function createWarehouses(settings: WarehouseSettings): Record<WarehouseKind, WarehouseDriver> {
  return { duckdb: drivers.duckdb(settings) };
}
