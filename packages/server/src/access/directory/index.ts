import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { directorySettingsRoutes } from './directory-settings.routes.ts';
import { scimBulkRoutes } from './scim-bulk.routes.ts';
import { scimGroupRoutes } from './scim-group.routes.ts';
import { scimServiceRoutes } from './scim-service.routes.ts';
import { scimUserRoutes } from './scim-user.routes.ts';
import type { DirectoryNeeds } from './scim-write.ts';

function directoryRoutes(endpoints: Endpoints, needs: DirectoryNeeds): void {
  scimUserRoutes(endpoints, needs);
  scimGroupRoutes(endpoints, needs);
  scimServiceRoutes(endpoints, needs);
  scimBulkRoutes(endpoints, needs);
  directorySettingsRoutes(endpoints);
}

export const directory: Slice<DirectoryNeeds> = { name: 'directory', routes: directoryRoutes };
