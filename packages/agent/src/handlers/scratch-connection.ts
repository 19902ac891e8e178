/** What a test works with: a scratch database or schema, and a folder for its files. All are removed at its end. */
import { join } from 'node:path';
import { type EnvironmentPlace, type Folders, makePrivateFolder, removeTree } from '../host/folders.ts';
import type { WarehouseConnection } from '../warehouses/warehouse.ts';

export interface ScratchConnection {
  warehouse: WarehouseConnection;
  /** What names without a schema mean; absent: as outside of the test. */
  schema?: string;
  /** Below the environment's files folder, where the warehouse may write. */
  filesFolder: string;
  close(): Promise<void>;
}

/** @param id unique among the tests of the agent */
export async function openScratchConnection(
  opened: {
    connectScratch(filesFolder: string): Promise<{ warehouse: WarehouseConnection; schema?: string }>;
  },
  folders: Folders,
  place: EnvironmentPlace,
  id: string,
): Promise<ScratchConnection> {
  const filesFolder = join(folders.testFiles(place), id);
  const scratch = await opened.connectScratch(filesFolder);
  const { warehouse } = scratch;
  try {
    await makePrivateFolder(filesFolder);
    return {
      ...scratch,
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
