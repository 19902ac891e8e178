import type { Slice } from '../../kernel/slice/slice.ts';
import { branchRoutes, isBranchProtected } from './branch.routes.ts';
import { commitRoutes } from './commit.routes.ts';
import { fileRoutes } from './file.routes.ts';
import { type RepositoryRouteServices, repositoryRoutes } from './repository.routes.ts';
import type { RepositoryUse } from './repository-use.ts';
import { createUnusedMirrorsJob, type UnusedMirrorsNeeds } from './unused-mirrors.ts';

export {
  findRepository,
  lockRepository,
  type RepositoryPlace,
  repositoryOfProject,
} from './repository.store.ts';
export {
  createRepositoryUse,
  type OpenedRepository,
  type RepositoryUse,
} from './repository-use.ts';
export { findNearestBranch, requireHead, requireRevision, requireTag } from './revision.ts';
export { isBranchProtected };

interface Needs extends RepositoryRouteServices, UnusedMirrorsNeeds {
  repositories: RepositoryUse;
}

export const repositories: Slice<Needs> = {
  name: 'repositories',
  routes(endpoints, services) {
    repositoryRoutes(endpoints, services);
    branchRoutes(endpoints, services.repositories);
    commitRoutes(endpoints, services.repositories);
    fileRoutes(endpoints, services.repositories);
  },
  periodic: (services) => [createUnusedMirrorsJob(services)],
};
