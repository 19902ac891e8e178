import { listEvents } from '@headgate/contract';
import type { Endpoints } from '../../kernel/endpoint.ts';
import { asUuid } from '../../kernel/identifiers.ts';
import { pageBounds } from '../../kernel/paging.ts';
import { problem } from '../../kernel/problems.ts';
import { eventPage, eventPageByTime, presentEvent } from './event.store.ts';

export function eventRoutes({ read }: Endpoints): void {
  read(listEvents, async ({ query, page }) => {
    const from = new Date(query.from);
    const to = new Date(query.to);
    if (from >= to) throw problem('empty-time-range');
    const { limit, offset } = pageBounds(query);
    const filters = [
      query.eventName ?? null,
      query.projectId === undefined ? null : asUuid(query.projectId),
      query.actorId === undefined ? null : asUuid(query.actorId),
      query.subjectId ?? null,
      query.subjectType ?? null,
    ];
    const { rows, total } = filters.every((filter) => filter === null)
      ? await page(eventPageByTime, [from, to, limit, offset])
      : await page(eventPage, [from, to, ...filters, limit, offset]);
    return { body: { page: query.page, results: rows.map(presentEvent), size: limit, total } };
  });
}
