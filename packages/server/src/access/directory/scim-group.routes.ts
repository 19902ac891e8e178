/** /Groups. */
import {
  createScimGroup,
  deleteScimGroup,
  getScimGroup,
  listScimGroups,
  patchScimGroup,
  replaceScimGroup,
  searchScimGroups,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { groupSchema } from './schema/group-schema.ts';
import { isReturned, readProjection } from './schema/scim-projection.ts';
import { groupById } from './search/scim-group.store.ts';
import { renderGroup, renderGroupTag } from './search/scim-present.ts';
import { readSearch, readSearchMessage, renderList, type Searches } from './search/scim-search.ts';
import { createGroup, deleteGroup, patchGroup, replaceGroup } from './write/group.write.ts';
import { type DirectoryNeeds, renderBase, runDirectoryWrite } from './write/scim-write.ts';

export function scimGroupRoutes({ read, long }: Endpoints, needs: DirectoryNeeds, searches: Searches): void {
  const base = renderBase(needs);

  read(listScimGroups, async (call) => {
    const search = readSearch(call.query);
    return { text: renderList(await searches.findGroups(call, search), search.offset + 1) };
  });

  read(searchScimGroups, async (call) => {
    const search = readSearchMessage(call.body);
    return { text: renderList(await searches.findGroups(call, search), search.offset + 1) };
  });

  read(getScimGroup, async ({ params: { id }, query, rows, scope }) => {
    const projection = readProjection(groupSchema, query.attributes, query.excludedAttributes);
    const found = await rows(groupById, {
      group_id: toUuid(id),
      with_members: isReturned(projection, 'members'),
    });
    const row = requireRow(found, () => problem('group-not-found', { id }));
    const text = renderGroup(projection, { base, accountId: scope.accountId }, row);
    return { text, etag: renderGroupTag(row) };
  });

  long(createScimGroup, (call) =>
    runDirectoryWrite(needs, groupSchema, call, (write) => createGroup(write, call.body)),
  );

  long(replaceScimGroup, (call) =>
    runDirectoryWrite(needs, groupSchema, call, (write) => replaceGroup(write, call.params.id, call.body)),
  );

  long(patchScimGroup, (call) =>
    runDirectoryWrite(needs, groupSchema, call, (write) => patchGroup(write, call.params.id, call.body)),
  );

  long(deleteScimGroup, (call) =>
    runDirectoryWrite(needs, groupSchema, call, (write) => deleteGroup(write, call.params.id)),
  );
}
