/** What the tests over all operations need from this slice. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { warehouseQueryExamples } from './warehouse-query.examples.ts';

export const warehouseQueryGuards: SliceGuards = {
  examples: warehouseQueryExamples,
  permissions: {
    'read executions, steps and logs of an environment': ['queryWarehouse'],
  },
};
