import { createTestPostgres } from '../../testing/postgres.ts';
import { testWarehouse } from '../../testing/warehouse-conformance.ts';

testWarehouse('PostgreSQL', async () => {
  const { driver, target, drop } = await createTestPostgres();
  return {
    connect: () => driver.connect(target),
    connectReading: () => driver.connectReading(target),
    slow: 'select pg_sleep(60)',
    end: drop,
  };
});
