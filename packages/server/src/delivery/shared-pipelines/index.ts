import type { Slice } from '../../kernel/slice/slice.ts';
import type { UploadServices } from '../artifacts/index.ts';
import type { ManifestUser } from '../blobs/index.ts';
import { sharedPipelineRoutes } from './shared-pipeline.routes.ts';
import { sharedVersionsUse } from './shared-pipeline.store.ts';

export { chooseVersions } from './version-choice.ts';

export const sharedPipelines: Slice<UploadServices> & ManifestUser = {
  name: 'shared-pipelines',
  routes: sharedPipelineRoutes,
  manifestUses: [sharedVersionsUse],
};
