import type { Slice } from '../../kernel/slice/slice.ts';
import { projectTagRoutes } from './project-tag.routes.ts';

export const projectTags: Slice = { name: 'project-tags', routes: projectTagRoutes };
