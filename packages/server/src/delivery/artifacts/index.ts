import type { Slice } from '../../kernel/slice/slice.ts';
import type { ManifestUser } from '../blobs/index.ts';
import { artifactRoutes, type UploadServices } from './artifact.routes.ts';
import { versionsUse } from './artifact.store.ts';

export type { UploadServices } from './artifact.routes.ts';
export { chosenVersion, noVersion } from './artifact.store.ts';
export { keptIgnored } from './ignored-pipelines.ts';
export { insertManifest, manifestFiles } from './manifest.store.ts';
export { createPipelineChecks } from './pipeline-checks.ts';
export { isPipelinePath, type PipelineDescription, pathOf } from './pipeline-description.ts';
export { createPipelineReader, type PipelineReader } from './pipeline-reader.ts';
export { ofPart, requireNoErrors } from './strict-upload.ts';
export { readUpload, type Upload, type UploadLimits } from './upload.ts';

export const artifacts: Slice<UploadServices> & ManifestUser = {
  name: 'artifacts',
  routes: artifactRoutes,
  manifestUses: [versionsUse],
};
