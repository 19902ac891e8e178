/** What the service says of itself, and searches over users and groups. */
import {
  getScimResourceType,
  getScimSchema,
  getScimServiceProviderConfig,
  listScimResourceTypes,
  listScimSchemas,
  searchScim,
} from '@headgate/contract';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { Problem, problem } from '../../kernel/http/problems.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import {
  describeService,
  listResourceTypes,
  listSchemas,
  renderDescriptions,
} from './schema/scim-description.ts';
import { type Found, readSearchMessage, renderList, type Searches } from './search/scim-search.ts';
import { type DirectoryNeeds, renderBase } from './write/scim-write.ts';

/** Only checks the rights of the caller. */
const nothing = guardedRead({ row: { one: 'integer' } }, 'select 1 as one');

export function scimServiceRoutes({ read }: Endpoints, needs: DirectoryNeeds, searches: Searches): void {
  const base = renderBase(needs);

  read(getScimServiceProviderConfig, async ({ rows }) => {
    await rows(nothing, {});
    return { body: describeService(base) };
  });

  read(listScimResourceTypes, async ({ rows }) => {
    await rows(nothing, {});
    return { body: renderDescriptions(listResourceTypes(base)) };
  });

  read(getScimResourceType, async ({ params: { id }, rows }) => {
    await rows(nothing, {});
    return { body: requireDescription(listResourceTypes(base), id) };
  });

  read(listScimSchemas, async ({ rows }) => {
    await rows(nothing, {});
    return { body: renderDescriptions(listSchemas(base)) };
  });

  read(getScimSchema, async ({ params: { id }, rows }) => {
    await rows(nothing, {});
    return { body: requireDescription(listSchemas(base), id) };
  });

  read(searchScim, async (call) => {
    const search = readSearchMessage(call.body);
    const users = await findIfKnown(() => searches.findUsers(call, search));
    const rest = {
      ...search,
      offset: Math.max(search.offset - (users.found?.total ?? 0), 0),
      count: search.count - (users.found?.resources.length ?? 0),
    };
    const groups = await findIfKnown(() => searches.findGroups(call, rest));
    if (users.found === undefined && groups.found === undefined) throw users.refused;
    const found = {
      total: (users.found?.total ?? 0) + (groups.found?.total ?? 0),
      resources: [...(users.found?.resources ?? []), ...(groups.found?.resources ?? [])],
    };
    return { text: renderList(found, search.offset + 1) };
  });
}

/** A filter may name attributes that one of the types does not have. */
async function findIfKnown(find: () => Promise<Found>): Promise<{ found?: Found; refused?: Problem }> {
  try {
    return { found: await find() };
  } catch (failure) {
    const isUnknown =
      failure instanceof Problem && ['invalid-filter', 'invalid-attribute-value'].includes(failure.code);
    if (!isUnknown) throw failure;
    return { refused: failure };
  }
}

function requireDescription<Described extends { id: string }>(
  all: readonly Described[],
  id: string,
): Described {
  const found = all.find((each) => each.id.toLowerCase() === id.toLowerCase());
  if (found === undefined) throw problem('scim-description-not-found', { id });
  return found;
}
