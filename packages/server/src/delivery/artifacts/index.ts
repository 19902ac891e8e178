export { artifactRoutes, type UploadServices } from './artifact.routes.ts';
export { chosenVersion, insertManifest, manifestFiles, noVersion } from './artifact.store.ts';
export { type BlobStore, folderBlobStore } from './blob-store.ts';
export { createPipelineChecks } from './pipeline-checks.ts';
export { isPipelinePath, type PipelineDescription } from './pipeline-description.ts';
export { createPipelineReader } from './pipeline-reader.ts';
export { readUpload, type Upload, type UploadLimits } from './upload.ts';
