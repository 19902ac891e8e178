export { artifactRoutes } from './artifact.routes.ts';
export { chosenVersion, insertManifest, manifestFiles, noVersion } from './artifact.store.ts';
export { type BlobStore, folderBlobStore } from './blob-store.ts';
export { isPipelinePath, type PipelineDescription } from './pipeline-description.ts';
export { readUpload, type Upload, type UploadLimits } from './upload.ts';
