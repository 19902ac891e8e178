/** What a test works with: a scratch database, and a folder for its files. Both are removed at its end. */
import { join } from 'node:path';
import { type EnvironmentPlace, type Folders, makePrivateFolder, removeTree } from '../host/folders.ts';
import type { WarehouseConnection, WarehouseDriver } from '../warehouses/warehouse.ts';

export interface ScratchConnection {
  warehouse: WarehouseConnection;
  /** Below the environment's files folder, where the warehouse may write. */
  filesFolder: string;
  close(): Promise<void>;
}

/** @param id unique among the tests of the agent */
export async function openScratchConnection(
  driver: WarehouseDriver,
  folders: Folders,
  place: EnvironmentPlace,
  id: string,
): Promise<ScratchConnection> {
  const filesFolder = join(folders.testFiles(place), id);
  const warehouse = await driver.connectScratch(place, filesFolder);
  try {
    await makePrivateFolder(filesFolder);
    return {
      warehouse,
      filesFolder,
      async close() {
        await warehouse.close();
        await removeTree(filesFolder);
      },
    };
  } catch (error) {
    await warehouse.close();
    throw error;
  }
}
