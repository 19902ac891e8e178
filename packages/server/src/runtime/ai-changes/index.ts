import type { Slice } from '../../kernel/slice/slice.ts';
import { aiChangesRoutes, type ChangeServices } from './ai-changes.routes.ts';

export const aiChanges: Slice<ChangeServices> = { name: 'ai-changes', routes: aiChangesRoutes };
