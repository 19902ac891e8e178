import type { Slice } from '../../kernel/slice/slice.ts';
import type { WorkOwners } from '../../kernel/work/work.ts';
import { projectRoutes } from './project.routes.ts';

export { projectWarehouse, warehouseOfProject } from './project.store.ts';

export const projects: Slice<{ owners: WorkOwners }> = { name: 'projects', routes: projectRoutes };
