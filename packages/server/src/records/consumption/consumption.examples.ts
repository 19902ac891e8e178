/** A request that succeeds for each operation on consumption. */
import type { Examples } from '../../../testing/place.ts';

export const consumptionExamples: Examples = {
  getConsumption: () => ({ path: '/consumption?consumedFrom=2026-11-01&consumedBefore=2026-12-01' }),
  getEtlUserConsumption: () => ({
    path: '/consumption/etl-users?consumedFrom=2026-11-01T00:00:00.000Z&consumedBefore=2026-12-01T00:00:00.000Z',
  }),
};
