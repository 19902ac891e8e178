import {
  createProjectTag,
  deleteProjectTag,
  findTaggedProjects,
  getProjectTag,
  listProjectTags,
  updateProjectTag,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import {
  deleteProjectTagRow,
  insertProjectTag,
  lockProjectTag,
  type ProjectTagRow,
  presentProjectTag,
  projectTagByName,
  projectTagPage,
  renderProjectTagEtag,
  taggedProjectPage,
  updateProjectTagRow,
} from './project-tag.store.ts';

export function projectTagRoutes({ read, write }: Endpoints): void {
  read(findTaggedProjects, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { name, value = null } = query;
    const { rows, total } = await page(taggedProjectPage, { name, value, limit, offset });
    return { body: { page: query.page, results: rows, size: limit, total } };
  });

  read(listProjectTags, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(projectTagPage, { limit, offset });
    return { body: { page: query.page, results: rows.map(presentProjectTag), size: limit, total } };
  });

  read(getProjectTag, async ({ params, rows }) => {
    const name = params.projectTagName;
    const row = requireRow(await rows(projectTagByName, { name }), () =>
      problem('project-tag-not-found', { name }),
    );
    return { body: presentProjectTag(row), etag: renderProjectTagEtag(row) };
  });

  write(createProjectTag, ({ tx, scope, params: { projectId }, body, now, newId }) => {
    const row: ProjectTagRow = { project_tag_id: newId(), ...body, version: 1 };
    insertProjectTag(tx, scope, projectId, row, now);
    const after = presentProjectTag(row);
    return {
      body: after,
      etag: renderProjectTagEtag(row),
      location: `/v1/projects/${projectId}/tags/${row.name}`,
      events: [buildProjectTagEvent('project-tag-created', projectId, row, { after })],
    };
  });

  write(updateProjectTag, async ({ tx, scope, params, headers, body }) => {
    const { projectId, projectTagName } = params;
    const stored = await lockProjectTag(tx, scope, projectId, projectTagName);
    requireMatch(headers['If-Match'], renderProjectTagEtag(stored));
    const row: ProjectTagRow = { ...stored, value: body.value, version: stored.version + 1 };
    updateProjectTagRow(tx, scope, projectId, row);
    const states = { before: presentProjectTag(stored), after: presentProjectTag(row) };
    return {
      body: states.after,
      etag: renderProjectTagEtag(row),
      events: [buildProjectTagEvent('project-tag-updated', projectId, row, states)],
    };
  });

  write(deleteProjectTag, async ({ tx, scope, params: { projectId, projectTagName }, headers }) => {
    const stored = await lockProjectTag(tx, scope, projectId, projectTagName);
    requireMatch(headers['If-Match'], renderProjectTagEtag(stored));
    tx.send(deleteProjectTagRow, { account_id: scope.accountId, project_id: projectId, name: stored.name });
    const before = presentProjectTag(stored);
    return { events: [buildProjectTagEvent('project-tag-deleted', projectId, stored, { before })] };
  });
}

function buildProjectTagEvent(
  name: AccountEvent['name'],
  projectId: string,
  row: ProjectTagRow,
  states: { before?: object; after?: object },
): AccountEvent {
  const subject = { type: 'project-tag', id: row.project_tag_id, name: row.name };
  return { name, projectId, subject, ...states };
}
