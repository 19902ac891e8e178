/** Stages: names for places in object stores, which CREATE STAGE declares. */
import type { Dialect, TableReference } from '../sql/dialect/dialect.ts';
import { stageTable } from '../sql/statements/own-tables.ts';
import { readStorePlace, type StoreAccess, type StorePlace } from './store-address.ts';

export interface Stage {
  readonly name: string;
  /** As if it were a table. */
  readonly reference: TableReference;
  /** Returns a row if the environment has stages at all. */
  readonly exists: string;
  /** Returns the row of the stage. */
  readonly query: string;
  /** @throws ParameterError if the address of the stage is wrong */
  locate(row: readonly unknown[]): StorePlace;
}

export function planStage(reference: TableReference, access: StoreAccess, dialect: Dialect): Stage {
  const key = dialect.literal(dialect.table(reference).toLowerCase());
  const table: TableReference = { table: stageTable };
  return {
    name: reference.table,
    reference,
    exists: dialect.tableExists(table),
    query: `SELECT url, endpoint FROM ${dialect.table(table)} WHERE stage_name = ${key}`,
    locate([url, endpoint]) {
      const address = String(url);
      const compatible = /^s3compat:/i.test(address);
      const host = typeof endpoint === 'string' ? { endpoint: toOrigin(endpoint) } : {};
      return readStorePlace(
        `the URL of the stage ${reference.table}`,
        compatible ? `s3:${address.slice('s3compat:'.length)}` : address,
        { ...host, ...access },
      );
    },
  };
}

/** Snowflake's ENDPOINT is a host without a scheme. */
const toOrigin = (endpoint: string) => (/^https?:\/\//i.test(endpoint) ? endpoint : `https://${endpoint}`);
