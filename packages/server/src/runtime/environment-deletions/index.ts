import type { Slice } from '../../kernel/slice/slice.ts';
import {
  type EnvironmentDeletionServices,
  environmentDeletionRoutes,
} from './environment-deletion.routes.ts';

export const environmentDeletions: Slice<EnvironmentDeletionServices> = {
  name: 'environment-deletions',
  routes: environmentDeletionRoutes,
};
