/** How the warehouse of a dialect loads and unloads objects itself. */
import type { Dialect } from '../sql/dialect/dialect.ts';
import { createRedshiftStores } from './redshift-stores.ts';
import { createSnowflakeStores } from './snowflake-stores.ts';
import type { WarehouseStores } from './warehouse-stores.ts';

const creators = { redshift: createRedshiftStores, snowflake: createSnowflakeStores } as const;

/** Undefined: the agent fetches and writes the objects. */
export const createDialectStores = (dialect: Dialect): WarehouseStores | undefined =>
  dialect.stores === undefined ? undefined : creators[dialect.stores](dialect);
