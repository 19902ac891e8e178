import { testWarehouse } from '../../testing/warehouse-conformance.ts';
import { removeTree } from '../host/folders.ts';
import { createScratchFixture } from './scratch/duckdb-scratch-fixture.ts';

testWarehouse('DuckDB', async () => {
  const { driver, place, root } = await createScratchFixture();
  return {
    connect: () => driver.connect(place),
    connectReading: () => driver.connectReading(place),
    slow: 'select count(*) from range(10000000) a, range(1000000) b where a.range % 7 = b.range % 11',
    async end() {
      await driver.close();
      await removeTree(root);
    },
  };
});
