import type { Slice } from '../../kernel/slice/slice.ts';
import { createConsumptionRetention } from './consumption.retention.ts';
import { type ConsumptionRouteServices, consumptionRoutes } from './consumption.routes.ts';
import { type CountingServices, createCountingJob } from './counting.ts';

export {
  boundName,
  boundSum,
  dayOf,
  insertIntoConsumptionEntry,
  recordProjectUsage,
} from './consumption-entry.store.ts';
export { defaultPrices, type Prices, parsePrices } from './prices.ts';

interface Needs extends CountingServices, ConsumptionRouteServices {
  config: CountingServices['config'] & { retention: { consumptionDays: number | undefined } };
}

export const consumption: Slice<Needs> = {
  name: 'consumption',
  routes: consumptionRoutes,
  retention: ({ config }) => createConsumptionRetention(config.retention.consumptionDays),
  periodic: (services) => [createCountingJob(services)],
};
