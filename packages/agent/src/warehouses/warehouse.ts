/**
 * The databases that runs push their SQL down to. A kind of warehouse is one file that gives a
 * `WarehouseDriver`, listed in `registry.ts`; a run holds one connection.
 */

import type { WarehouseBounds } from '../config.ts';
import type { Confinement } from '../confinement/confinement.ts';
import type { Warehouse } from '../engine/ports.ts';
import type { EnvironmentPlace, Folders } from '../host/folders.ts';
import type { Log } from '../log.ts';

/** Of a warehouse that this agent can use. */
export type WarehouseKind = 'duckdb';

export interface WarehouseConnection extends Warehouse {
  /**
   * Interrupts what is running and gives the connection back; what was not committed is undone. Never
   * rejects.
   */
  close(): Promise<void>;
}

export interface WarehouseDriver {
  /** @throws Error in the user's words when the warehouse cannot be reached. */
  connect(place: EnvironmentPlace): Promise<WarehouseConnection>;
  /** Ends all that the driver holds. Never rejects. */
  close(): Promise<void>;
}

export interface WarehouseSettings {
  folders: Folders;
  bounds: WarehouseBounds;
  confinement: Confinement;
  /** Runs at one time. */
  concurrency: number;
  log: Log;
}
