import type { Slice } from '../../kernel/slice/slice.ts';
import type { ManifestUser } from '../blobs/index.ts';
import { artifactRoutes, type UploadServices } from './artifact.routes.ts';
import { versionsUse } from './artifact.store.ts';

export type { UploadServices } from './artifact.routes.ts';
export {
  createVersionProblem,
  environmentToUploadTo,
  selectChosenVersion,
} from './artifact.store.ts';
export { renderIgnoredPipelines } from './ignored-pipelines.ts';
export { insertManifest, readManifestFiles } from './manifest.store.ts';
export { judgeReferences, listNamesBy, type Publication, publishVersion } from './publication.ts';
export { type Checked, createPipelineChecks } from './reading/pipeline-checks.ts';
export {
  isPipelinePath,
  type PipelineDescription,
  renderPipelinePath,
} from './reading/pipeline-description.ts';
export { createPipelineReader, type PipelineReader } from './reading/pipeline-reader.ts';
export { buildPartViolation, requireNoErrors } from './strict-upload.ts';
export { findAssetNameFault, normalizeName } from './upload/asset-name.ts';
export { type Collection, createCollection, type Upload } from './upload/collection.ts';
export { readUpload, type UploadLimits } from './upload/upload.ts';

export const artifacts: Slice<UploadServices> & ManifestUser = {
  name: 'artifacts',
  routes: artifactRoutes,
  manifestUses: [versionsUse],
};
