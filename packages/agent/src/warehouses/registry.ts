import type { EgressAllow } from '@headgate/contract/egress';
import { createDuckdbDriver } from './duckdb.ts';
import { createSessionRecords } from './left-sessions.ts';
import type { RefusedCluster } from './postgres/postgres-access.ts';
import type { PostgresOptions } from './postgres.ts';
import type { ServedDriver, WarehouseSettings, Warehouses } from './warehouse.ts';

export function createWarehouses(
  settings: WarehouseSettings,
  allow: EgressAllow,
  refused: RefusedCluster,
): Warehouses {
  return {
    duckdb: createDuckdbDriver(settings),
    postgres: createLazyPostgres({
      allow,
      refused,
      records: createSessionRecords(settings.folders.sessions),
    }),
  };
}

/** Most agents have no such warehouse, so its code is loaded at the first use. */
export function createLazyPostgres(options: PostgresOptions): ServedDriver {
  let loaded: Promise<ServedDriver> | undefined;
  const load = () => {
    loaded ??= import('./postgres.ts').then(({ createPostgresDriver }) => createPostgresDriver(options));
    return loaded;
  };
  return {
    connect: async (target) => (await load()).connect(target),
    connectReading: async (target) => (await load()).connectReading(target),
    test: async (target) => (await load()).test(target),
    endSession: async (target, session) => (await load()).endSession(target, session),
  };
}
