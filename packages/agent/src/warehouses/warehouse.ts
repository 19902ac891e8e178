/**
 * The databases in which runs execute SQL. A kind of warehouse is a file with a driver, listed in `registry.ts`: a
 * `WarehouseDriver` for the embedded one, which keeps a database for each environment, or a `ServedDriver` for one that
 * is reached over the network. A run has a connection for each of its sessions. `testing/warehouse-conformance.ts` says
 * what connections of all kinds have in common.
 */

import type { Secret, SecretCoordinates, WarehouseConnectionValues } from '@headgate/contract';
import type { SqlRules } from '@headgate/pipelines';
import type { WarehouseBounds } from '../config.ts';
import type { Confinement } from '../confinement/confinement.ts';
import type { SecretSql, Warehouse } from '../engine/ports/ports.ts';
import type { EnvironmentPlace, Folders } from '../host/folders.ts';
import type { Log } from '../log.ts';
import type { ServerSession } from './postgres/server-kind.ts';

export interface WarehouseConnection extends Warehouse {
  /** What `query` gives, as JSON: the agent passes it on unread, because reading many rows would hold up its loop. */
  queryText(
    sql: string,
    maxRows: number,
    session?: number,
    limit?: AbortSignal,
    secret?: SecretSql,
  ): Promise<string>;
  /** Interrupts running statements, rolls back, and closes the connection. Never rejects. */
  close(): Promise<void>;
}

export interface ReadBounds {
  maxRows: number;
  /** Of the rows as JSON. */
  maxBytes: number;
  /** How the SQL of a user is read. Absent: it is the agent's own, in the words of the warehouse. */
  rules?: SqlRules;
}

/** The first rows of a query; `isCut`: there are more. */
export interface ReadRows {
  columns: string[];
  rows: (string | number | boolean | null)[][];
  isCut: boolean;
}

/** A connection that can change nothing. */
export interface ReadingConnection {
  /** Runs one query in a transaction that the warehouse keeps from writing. `limit` interrupts it. */
  read(sql: string, bounds: ReadBounds, limit: AbortSignal): Promise<ReadRows>;
  /** Interrupts the query and closes the connection. Never rejects. */
  close(): Promise<void>;
}

export interface WarehouseDriver {
  /** @throws Error with a message for the user if the warehouse cannot be opened. */
  connect(place: EnvironmentPlace): Promise<WarehouseConnection>;
  /**
   * Connects a test. Its statements see the tables of the environment and change none of them: what it writes
   * is in a scratch database that is dropped when the connection is closed.
   *
   * @param filesFolder the only folder to which its statements may write files; below the environment's
   */
  connectScratch(place: EnvironmentPlace, filesFolder: string): Promise<WarehouseConnection>;
  connectReading(place: EnvironmentPlace): Promise<ReadingConnection>;
  /** Deletes the data of an environment. Returns false, and deletes nothing, while something is connected to it. */
  remove(place: EnvironmentPlace): Promise<boolean>;
  /** Closes all connections and processes. Never rejects. */
  close(): Promise<void>;
}

/** What a served warehouse needs to know to connect. */
export interface ServedTarget {
  connection: WarehouseConnectionValues;
  /** Names the work among the sessions of the server. */
  tag: string;
  /** @throws Error that names the secret reference */
  readSecret(name: string, key?: string): Promise<Secret>;
  /** Where the secrets are that were read, by `nameSecret`. */
  places: ReadonlyMap<string, SecretCoordinates>;
}

export const nameSecret = (name: string, key?: string) => JSON.stringify([name, key]);

export interface ScratchSession {
  warehouse: WarehouseConnection;
  /** The name of the schema, as the server keeps it. */
  schema: string;
}

export interface ServedDriver {
  /** @throws Error with a message for the user */
  connect(target: ServedTarget): Promise<WarehouseConnection>;
  /**
   * Connects a test: with the credential for reading, and as its default schema one of its own, which is dropped when
   * the connection is closed. @throws the same, also if that role may write elsewhere
   */
  connectScratch(target: ServedTarget): Promise<ScratchSession>;
  /** With the credential for reading. @throws the same, also if that role may do more than read */
  connectReading(target: ServedTarget): Promise<ReadingConnection>;
  /** Connects, also with the credential for reading if there is one, and closes the connections. @throws the same */
  test(target: ServedTarget): Promise<{ serverVersion: string }>;
  /**
   * Ends a session of the same login, if it is still there, and drops its scratch schema. Returns whether there was
   * one of both. @throws the same
   */
  endSession(target: ServedTarget, session: ServerSession): Promise<boolean>;
}

/** Warehouses that are reached over the network. */
export type ServedKind = 'postgres' | 'redshift' | 'snowflake';

export interface Warehouses extends Record<ServedKind, ServedDriver> {
  duckdb: WarehouseDriver;
}

export interface WarehouseSettings {
  folders: Folders;
  bounds: WarehouseBounds;
  confinement: Confinement;
  /** Runs at one time. */
  concurrency: number;
  log: Log;
}
