/** What the tests over all operations need from this slice. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { warehouseQueryExamples } from './warehouse-query.examples.ts';
import { warehouseTableExamples } from './warehouse-table.examples.ts';

export const warehouseQueryGuards: SliceGuards = {
  examples: { ...warehouseQueryExamples, ...warehouseTableExamples },
};
