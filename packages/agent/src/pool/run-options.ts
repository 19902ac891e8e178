import type { RunVariables, Secret, Step } from '@headgate/contract';
import type { OpenedEndpoint } from '../connectors/connectors.ts';
import type { EndpointCall } from '../connectors/endpoint-call.ts';
import type { FilesPlace } from '../engine/files/run-files.ts';
import type { LogSource } from '../engine/ports/ports.ts';
import type { PlacedArtifact, PlacedShared, RunStart } from '../engine/ports/run-messages.ts';
import type { RanSql } from '../lineage/ran-sql.ts';
import type { StoreAccess } from '../stores/store-access.ts';
import type { WarehouseConnection } from '../warehouses/warehouse.ts';
import type { StartScript } from './run-scripts.ts';

/** One run, as its handler gives it to the pool. */
export interface RunOptions {
  request: RunStart['request'];
  artifact: PlacedArtifact;
  shared: readonly PlacedShared[];
  /** The folders of its files. */
  files: FilesPlace;
  warehouse: Pick<WarehouseConnection, 'execute' | 'queryText' | 'copy'>;
  /** An embedded database that is empty, and dropped when it is closed. */
  openBetween(): Promise<WarehouseConnection>;
  readSecret(name: string): Promise<Secret>;
  /**
   * Puts the SQL of the run into a scratch database, or into a schema that then is the default. `filesFolder`: the
   * folder for its files.
   */
  enterScratch(): Promise<{ filesFolder: string; schema?: string }>;
  runScript: StartScript;
  /** Opens an endpoint of a connector. The run's process never gets its secrets. */
  openEndpoint(opened: OpenedEndpoint): Promise<EndpointCall & { close(): void }>;
  /** Writes the file at an address to a path. @throws Error with the reason */
  download(address: string, path: string, unpacks: boolean, signal: AbortSignal): Promise<void>;
  stores: StoreAccess;
  /** Removes the run's secrets from the last output of the process. */
  conceal(text: string): string;
  /** Graceful: the run ends after the running steps. */
  cancel: AbortSignal;
  /** Kills the process group. */
  kill: AbortSignal;
  /** @param ran what a step that has succeeded has run */
  onStep(step: Step, ran?: RanSql): void;
  onLine(line: string, source: LogSource, timestamp: string): void;
  onVariables(variables: RunVariables): void;
}
