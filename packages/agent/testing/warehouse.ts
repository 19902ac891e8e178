/** DuckDB warehouses for tests, each in a folder of its own. */
import { mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEgressAllow } from '@headgate/contract/egress';
import type { Confinement } from '../src/confinement/confinement.ts';
import { MemoryWatch } from '../src/confinement/memory-watch.ts';
import { createFolders, type Folders } from '../src/host/folders.ts';
import { createLog } from '../src/log.ts';
import { createDuckdbDriver } from '../src/warehouses/duckdb.ts';
import { createServedWarehouses } from '../src/warehouses/registry.ts';
import type { WarehouseDriver, WarehouseSettings, Warehouses } from '../src/warehouses/warehouse.ts';

export const testPlace = { projectId: '11111111-1111-4111-8111-111111111111', environmentName: 'dev' };

/** Remove `root` with `removeTree` after the tests. */
export function makeWarehouseFolders(): { root: string; folders: Folders } {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-duckdb-')));
  return { root, folders: createFolders(root) };
}

/** SQL in the warehouse meets only the checks of SQL: the network is not confined. */
export function createOpenConfinement(): Confinement {
  const memory = new MemoryWatch();
  const none = () => [];
  return { launcher: [], limitFolders: none, memory, limitAllocations: none, close: () => memory.close() };
}

export const errorLog = createLog({ level: 'error', write: (line) => console.log(line) });

/** Writes errors to the output of the test. */
export function createTestDriver(
  folders: Folders,
  confinement: Confinement,
  bounds: Partial<WarehouseSettings['bounds']> = {},
): WarehouseDriver {
  return createDuckdbDriver({
    folders,
    bounds: {
      memoryMegabytes: 256,
      processMegabytes: 1_024,
      threads: 2,
      temporaryMegabytes: 64,
      idleSeconds: 60,
      ...bounds,
    },
    confinement,
    concurrency: 4,
    log: errorLog,
  });
}

/** With DuckDB, and the served ones at no address but public ones. */
export const createTestWarehouses = (duckdb: WarehouseDriver): Warehouses => ({
  duckdb,
  ...createServedWarehouses({ allow: parseEgressAllow([]) }),
});
