import type { EgressAllow } from '@headgate/contract/egress';
import { createDuckdbDriver } from './duckdb.ts';
import type { ServedDriver, WarehouseSettings, Warehouses } from './warehouse.ts';

export function createWarehouses(settings: WarehouseSettings, allow: EgressAllow): Warehouses {
  return { duckdb: createDuckdbDriver(settings), postgres: createLazyPostgres(allow) };
}

/** Most agents have no such warehouse, so its code is loaded at the first use. */
export function createLazyPostgres(allow: EgressAllow): ServedDriver {
  let loaded: Promise<ServedDriver> | undefined;
  const load = () => {
    loaded ??= import('./postgres.ts').then(({ createPostgresDriver }) => createPostgresDriver({ allow }));
    return loaded;
  };
  return {
    connect: async (target) => (await load()).connect(target),
    test: async (target) => (await load()).test(target),
  };
}
