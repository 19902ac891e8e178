import type { Slice } from '../../kernel/slice/slice.ts';
import { secretReferenceRoutes } from './secret-reference.routes.ts';

export { secretReferencesAmong } from './secret-reference.store.ts';
export { buildCoordinates } from './secret-reference.ts';

export const secretReferences: Slice = { name: 'secret-references', routes: secretReferenceRoutes };
