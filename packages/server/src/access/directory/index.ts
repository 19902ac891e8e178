import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { directorySettingsRoutes } from './directory-settings.routes.ts';
import { scimBulkRoutes } from './scim-bulk.routes.ts';
import { scimGroupRoutes } from './scim-group.routes.ts';
import { scimServiceRoutes } from './scim-service.routes.ts';
import { scimUserRoutes } from './scim-user.routes.ts';
import { createSearches } from './search/scim-search.ts';
import { type DirectoryNeeds, renderBase } from './write/scim-write.ts';

function directoryRoutes(endpoints: Endpoints, needs: DirectoryNeeds): void {
  const searches = createSearches(renderBase(needs));
  scimUserRoutes(endpoints, needs, searches);
  scimGroupRoutes(endpoints, needs, searches);
  scimServiceRoutes(endpoints, needs, searches);
  scimBulkRoutes(endpoints, needs);
  directorySettingsRoutes(endpoints);
}

export const directory: Slice<DirectoryNeeds> = { name: 'directory', routes: directoryRoutes };
