import { createTestPostgres } from '../../../testing/postgres.ts';
import { testServedFlows } from './served-flow-suite-fixture.ts';

testServedFlows('PostgreSQL', {
  warehouse: 'POSTGRES',
  create: createTestPostgres,
  refused: {},
  changedTwice: /MERGE command cannot affect row a second time/,
});
