import { createTestSnowflake } from '../../../testing/snowflake.ts';
import { testServedFlows } from './served-flow-suite-fixture.ts';

testServedFlows('Snowflake', {
  warehouse: 'SNOWFLAKE',
  async create() {
    const snowflake = await createTestSnowflake();
    return { ...snowflake, runRole: 'loading', admin: { query: snowflake.fake.prepare } };
  },
  refused: {},
  changedTwice: /Duplicate row detected during DML action/,
});
