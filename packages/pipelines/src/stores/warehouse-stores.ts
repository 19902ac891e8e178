/** Loads and unloads of objects by a warehouse that reaches the store itself. */
import type { CsvFormat, FileFormat } from '../sql/dialect/dialect.ts';
import type { ObjectLoad, ObjectReading, ObjectSource } from './object-load.ts';
import type { StorePlace } from './store-address.ts';

export interface StoreRole {
  /** Or the integration, by which the warehouse reaches the store; undefined: by the credentials of the component. */
  readonly role: string | undefined;
}

export interface WarehouseLoad extends StoreRole {
  readonly load: ObjectLoad;
  readonly source: ObjectSource;
  readonly reading: ObjectReading;
}

export interface WarehouseUnload extends StoreRole {
  readonly query: string;
  readonly place: StorePlace;
  readonly format: FileFormat;
  readonly gzips: boolean;
  readonly isNew: boolean;
  readonly isSingle: boolean;
  readonly maxBytes: number | undefined;
  readonly moments: Partial<Pick<CsvFormat, 'dateFormat' | 'timeFormat' | 'timestampFormat'>>;
}

export interface StoreStatement {
  /** A mark stands in it for the credentials, which only the agent has. */
  readonly sql: string;
  /** Whether it needs no transaction: it may delete the objects, which no rollback brings back. */
  readonly isWhole?: true;
  /** A query for the number of rows, and of faults where `faults` does not name each. */
  readonly counted: string;
  /** A query for the faults of the rows that were left out: file, line, column, value, reason. */
  readonly faults: string | undefined;
  /** The same of a statement that failed. */
  readonly failure: string | undefined;
  /** What the step says. */
  readonly notes: readonly string[];
}

export interface WarehouseStores {
  /** @throws SqlError about what the warehouse cannot do */
  load(load: WarehouseLoad): StoreStatement;
  unload(unload: WarehouseUnload): StoreStatement;
}

/** Redshift's words for credentials. No SQL of a user has a mark. */
export const credentialsMark = '\u0001headgate credentials\u0001';
/** Snowflake's. */
export const snowflakeCredentialsMark = '\u0001headgate snowflake credentials\u0001';
