import { listEvents } from '@headgate/contract';
import type { Clock } from '../../kernel/clock.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { eventPage, eventPageByTime } from './event.store.ts';
import { createFullRanges } from './event.total.ts';
import { presentEvent } from './event-row.ts';

export function eventRoutes({ read }: Endpoints, { clock }: { clock: Clock }): void {
  const fullRanges = createFullRanges(clock);
  read(listEvents, async ({ query, scope, page }) => {
    const from = new Date(query.from);
    const to = new Date(query.to);
    if (from >= to) throw problem('empty-time-range');
    const { limit, offset } = computePageBounds(query);
    const filters = {
      names: query.eventName ?? null,
      in_project_id: query.projectId === undefined ? null : toUuid(query.projectId),
      actor_id: query.actorId === undefined ? null : toUuid(query.actorId),
      subject_id: query.subjectId ?? null,
      subject_type: query.subjectType ?? null,
      environment: query.environmentName ?? null,
    };
    const given = Object.values(filters);
    const asked = { accountId: scope.accountId, filters: given, from, to };
    const count = fullRanges.contains(asked) ? 'full' : 'counted';
    const { rows, total } = given.every((filter) => filter === null)
      ? await page(eventPageByTime[count], { from, to, limit, offset })
      : await page(eventPage[count], { from, to, ...filters, limit, offset });
    fullRanges.learn(asked, total);
    return { body: { page: query.page, results: rows.map(presentEvent), size: limit, total: total.counted } };
  });
}
