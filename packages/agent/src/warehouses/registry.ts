import type { EgressAllow } from '@headgate/contract/egress';
import { createDuckdbDriver } from './duckdb.ts';
import { createSessionRecords } from './left-sessions.ts';
import type { RefusedCluster } from './postgres/postgres-access.ts';
import type { PostgresOptions } from './postgres.ts';
import type { SnowflakeOptions } from './snowflake.ts';
import type { ServedDriver, ServedKind, WarehouseSettings, Warehouses } from './warehouse.ts';

export function createWarehouses(
  settings: WarehouseSettings,
  allow: EgressAllow,
  refused: RefusedCluster & { serverUrl?: string },
): Warehouses {
  const records = createSessionRecords(settings.folders.sessions);
  return {
    duckdb: createDuckdbDriver(settings),
    ...createServedWarehouses({
      allow,
      refused,
      records,
      ...(refused.serverUrl === undefined ? {} : { serverUrl: refused.serverUrl }),
    }),
  };
}

export const createServedWarehouses = (
  options: PostgresOptions & SnowflakeOptions,
): Record<ServedKind, ServedDriver> => ({
  postgres: createLazyDriver(async () => (await import('./postgres.ts')).createPostgresDriver(options)),
  redshift: createLazyDriver(async () => (await import('./redshift.ts')).createRedshiftDriver(options)),
  snowflake: createLazyDriver(async () => (await import('./snowflake.ts')).createSnowflakeDriver(options)),
});

/** Most agents have no such warehouse, so its code is loaded at the first use. */
function createLazyDriver(create: () => Promise<ServedDriver>): ServedDriver {
  let loaded: Promise<ServedDriver> | undefined;
  const load = () => {
    loaded ??= create();
    return loaded;
  };
  return {
    connect: async (target) => (await load()).connect(target),
    connectScratch: async (target) => (await load()).connectScratch(target),
    connectReading: async (target) => (await load()).connectReading(target),
    test: async (target) => (await load()).test(target),
    endSession: async (target, session) => (await load()).endSession(target, session),
  };
}
