import { type AccessReview, listAccessReviews } from '@headgate/contract';
import { type RowOf, requireRow } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import {
  everyReview,
  projectOfReview,
  type reviewColumns,
  reviewOfPrincipal,
  reviewsOfProject,
} from './review.store.ts';

export function reviewRoutes({ read }: Endpoints): void {
  read(listAccessReviews, async ({ query, rows, page }) => {
    const { principalId: id, projectId, page: number } = query;
    const { limit, offset } = computePageBounds(query);
    if (projectId !== undefined)
      requireRow(await rows(projectOfReview, { of_project: projectId }), () =>
        problem('project-not-found', { projectId }),
      );
    if (id !== undefined) {
      const found = await rows(reviewOfPrincipal, { wanted_principal: id, of_project: projectId ?? null });
      const row = requireRow(found, () => problem('principal-not-found', { id }));
      // In a project, only those who have something there are listed.
      const all = projectId !== undefined && row.grants_total === 0 ? [] : [presentReview(row)];
      const results = offset === 0 ? all : [];
      return { body: { page: number, results, size: limit, total: all.length } };
    }
    const { rows: some, total } =
      projectId === undefined
        ? await page(everyReview, { limit, offset })
        : await page(reviewsOfProject, { of_project: projectId, limit, offset });
    return { body: { page: number, results: some.map(presentReview), size: limit, total } };
  });
}

function presentReview(row: RowOf<typeof reviewColumns>): AccessReview {
  return {
    principalId: row.principal_id,
    principalType: row.principal_type,
    name: row.name,
    active: row.active,
    ...(row.last_used_at === null ? {} : { lastUsedAt: row.last_used_at.toISOString() }),
    grants: row.grants,
    grantsTotal: row.grants_total,
  };
}
