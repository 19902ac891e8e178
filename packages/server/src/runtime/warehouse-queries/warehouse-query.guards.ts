/** What the tests over all operations need from this slice. */
import type { SliceGuards } from '../../testing/slice-guards.ts';
import { warehouseQueryExamples } from './warehouse-query.examples.ts';

export const warehouseQueryGuards: SliceGuards = {
  examples: warehouseQueryExamples,
  permissions: {
    'write and delete overrides in an environment; upload, promote, enable artifacts there': [
      'queryWarehouse',
    ],
  },
};
