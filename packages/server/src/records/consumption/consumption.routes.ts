import {
  chargedUserLimit,
  consumptionDaysLimit,
  consumptionEntryLimit,
  getConsumption,
  getEtlUserConsumption,
} from '@headgate/contract';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { consumptionOfDays, dayMilliseconds, presentConsumption, usersOfDays } from './consumption.store.ts';
import type { Prices } from './prices.ts';

export interface ConsumptionRouteServices {
  config: { prices: Prices };
}

export function consumptionRoutes(
  { read }: Endpoints,
  { config: { prices } }: ConsumptionRouteServices,
): void {
  read(getConsumption, async ({ query, rows }) => {
    const days = requireRange(query);
    const limit = consumptionEntryLimit;
    const found = await rows(consumptionOfDays, { ...days, limit: limit + 1 });
    if (found.length > limit) throw createTooLarge(query, limit);
    return { body: { results: presentConsumption(found) } };
  });

  read(getEtlUserConsumption, async ({ query, rows }) => {
    const { from, before } = requireRange(query);
    const firstDay = new Date(from.getTime() - (from.getTime() % dayMilliseconds));
    const limit = chargedUserLimit;
    const users = await rows(usersOfDays, { from: firstDay, before, limit: limit + 1 });
    if (users.length > limit) throw createTooLarge(query, limit);
    return {
      body: {
        consumedFrom: from.toISOString(),
        consumedBefore: before.toISOString(),
        chargedUsers: users.map(({ username }) => ({ username })),
        credits: users.length * prices.perUser,
      },
    };
  });
}

interface RangeQuery {
  consumedFrom: string;
  consumedBefore: string;
}

/** A date is the first moment of its day in UTC. Throws `consumption-range`. */
function requireRange({ consumedFrom, consumedBefore }: RangeQuery): { from: Date; before: Date } {
  const [from, before] = [new Date(consumedFrom), new Date(consumedBefore)];
  const length = before.getTime() - from.getTime();
  if (length > 0 && length <= consumptionDaysLimit * dayMilliseconds) return { from, before };
  throw problem('consumption-range', {
    from: consumedFrom,
    before: consumedBefore,
    mostDays: consumptionDaysLimit,
  });
}

function createTooLarge({ consumedFrom, consumedBefore }: RangeQuery, limit: number) {
  return problem('consumption-too-large', { from: consumedFrom, before: consumedBefore, limit });
}
