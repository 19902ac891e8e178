import type { Slice } from '../../kernel/slice/slice.ts';
import { type FromGitServices, fromGitRoutes } from './from-git.routes.ts';

export type { RepositoryReader } from './repository-reader.ts';

export const gitDelivery: Slice<FromGitServices> = {
  name: 'git-delivery',
  routes(endpoints, services) {
    fromGitRoutes(endpoints, services);
  },
};
