/** /Users and /Me. */
import {
  createScimUser,
  deleteScimUser,
  getScimMe,
  getScimUser,
  listScimUsers,
  patchScimUser,
  replaceScimUser,
  searchScimUsers,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { isReturned, projectResource, readProjection } from './schema/scim-projection.ts';
import { userSchema } from './schema/user-schema.ts';
import { presentCredentialAsUser, presentUser, renderUserTag } from './search/scim-present.ts';
import { readSearch, readSearchMessage, renderList, type Searches } from './search/scim-search.ts';
import { credentialById, userById } from './search/scim-user.store.ts';
import { type DirectoryNeeds, renderBase, runDirectoryWrite } from './write/scim-write.ts';
import { createUser, deleteUser, patchUser, replaceUser } from './write/user.write.ts';

export function scimUserRoutes({ read, long }: Endpoints, needs: DirectoryNeeds, searches: Searches): void {
  const base = renderBase(needs);

  read(listScimUsers, async (call) => {
    const search = readSearch(call.query);
    return { text: renderList(await searches.findUsers(call, search), search.offset + 1) };
  });

  read(searchScimUsers, async (call) => {
    const search = readSearchMessage(call.body);
    return { text: renderList(await searches.findUsers(call, search), search.offset + 1) };
  });

  read(getScimUser, async ({ params: { id }, query, rows }) => {
    const projection = readProjection(userSchema, query.attributes, query.excludedAttributes);
    const found = await rows(userById, {
      user_id: toUuid(id),
      with_groups: isReturned(projection, 'groups'),
    });
    const row = requireRow(found, () => problem('user-not-found', { id }));
    return { body: projectResource(projection, presentUser(base, row)), etag: renderUserTag(row) };
  });

  read(getScimMe, async ({ scope, query, rows }) => {
    const projection = readProjection(userSchema, query.attributes, query.excludedAttributes);
    const withGroups = isReturned(projection, 'groups');
    const [user] = await rows(userById, { user_id: scope.actorId, with_groups: withGroups });
    if (user !== undefined) return { body: projectResource(projection, presentUser(base, user)) };
    const [credential] = await rows(credentialById, { caller_id: scope.actorId });
    const shown = presentCredentialAsUser(base, scope.actorId, credential?.name ?? '');
    return { body: projectResource(projection, shown) };
  });

  long(createScimUser, (call) =>
    runDirectoryWrite(needs, userSchema, call, (write) => createUser(write, call.body)),
  );

  long(replaceScimUser, (call) =>
    runDirectoryWrite(needs, userSchema, call, (write) => replaceUser(write, call.params.id, call.body)),
  );

  long(patchScimUser, (call) =>
    runDirectoryWrite(needs, userSchema, call, (write) => patchUser(write, call.params.id, call.body)),
  );

  long(deleteScimUser, (call) =>
    runDirectoryWrite(needs, userSchema, call, (write) => deleteUser(write, call.params.id)),
  );
}
