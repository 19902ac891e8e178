import { createDuckdbDriver } from './duckdb.ts';
import type { WarehouseDriver, WarehouseKind, WarehouseSettings } from './warehouse.ts';

const drivers: Record<WarehouseKind, (settings: WarehouseSettings) => WarehouseDriver> = {
  duckdb: createDuckdbDriver,
};

export function createWarehouses(settings: WarehouseSettings): Record<WarehouseKind, WarehouseDriver> {
  return { duckdb: drivers.duckdb(settings) };
}
