import { createTestSnowflake } from '../../testing/snowflake.ts';
import { testWarehouse } from '../../testing/warehouse-conformance.ts';

testWarehouse('Snowflake', async () => {
  const { driver, target, drop } = await createTestSnowflake();
  return {
    connect: () => driver.connect(target),
    connectReading: () => driver.connectReading(target),
    slow: 'select system$wait(60)',
    // It says no line of a table that does not exist.
    wrong: { sql: 'select 1,\n  2 3 from no_table', word: 'unexpected' },
    end: drop,
  };
});
