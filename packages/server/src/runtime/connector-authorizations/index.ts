import { createRemovalJob } from '../../kernel/retention/periodic-job.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import {
  type AuthorizationServices,
  connectorAuthorizationRoutes,
} from './connector-authorization.routes.ts';
import { authorizationBatch, removeExpiredAuthorizations } from './connector-authorization.store.ts';
import { createAuthorizationOwner } from './connector-authorization.work.ts';
import { connectorOauthLookupRoutes } from './oauth-lookup.routes.ts';

export const connectorAuthorizations: Slice<AuthorizationServices> = {
  name: 'connector-authorizations',
  routes(endpoints, services) {
    connectorAuthorizationRoutes(endpoints, services);
    connectorOauthLookupRoutes(endpoints, services);
  },
  workKinds: { 'connector-authorization': createAuthorizationOwner },
  periodic: (services) => [
    createRemovalJob(services, {
      kind: 'connector-authorizations',
      batch: authorizationBatch,
      remove: removeExpiredAuthorizations,
    }),
  ],
};
