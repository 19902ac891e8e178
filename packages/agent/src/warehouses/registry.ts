import type { EgressAllow } from '@headgate/contract/egress';
import { createDuckdbDriver } from './duckdb.ts';
import type { RefusedCluster, ServedDriver, WarehouseSettings, Warehouses } from './warehouse.ts';

export function createWarehouses(
  settings: WarehouseSettings,
  allow: EgressAllow,
  refused: RefusedCluster,
): Warehouses {
  return { duckdb: createDuckdbDriver(settings), postgres: createLazyPostgres(allow, refused) };
}

/** Most agents have no such warehouse, so its code is loaded at the first use. */
export function createLazyPostgres(allow: EgressAllow, refused: RefusedCluster = {}): ServedDriver {
  let loaded: Promise<ServedDriver> | undefined;
  const load = () => {
    loaded ??= import('./postgres.ts').then(({ createPostgresDriver }) =>
      createPostgresDriver({ allow, refused }),
    );
    return loaded;
  };
  return {
    connect: async (target) => (await load()).connect(target),
    test: async (target) => (await load()).test(target),
  };
}
