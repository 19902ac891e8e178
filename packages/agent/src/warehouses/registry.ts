import { createDuckdbDriver } from './duckdb.ts';
import type { WarehouseConnection, WarehouseDriver, WarehouseKind, WarehouseSettings } from './warehouse.ts';

const drivers: Record<WarehouseKind, (settings: WarehouseSettings) => WarehouseDriver> = {
  duckdb: createDuckdbDriver,
};

/**
 * The warehouse of a project that this agent cannot use. A run that needs none does not come to it; any other
 * is refused before its first step.
 */
export function createUnusableWarehouse(kind: string): WarehouseConnection {
  const refuse = async (): Promise<never> => {
    throw new Error(`this agent cannot use the project's warehouse, ${kind}`);
  };
  return { execute: refuse, query: refuse, close: async () => undefined };
}

export function createWarehouses(settings: WarehouseSettings): Record<WarehouseKind, WarehouseDriver> {
  return { duckdb: drivers.duckdb(settings) };
}
