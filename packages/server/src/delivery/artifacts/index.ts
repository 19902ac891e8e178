export { artifactRoutes, type UploadServices } from './artifact.routes.ts';
export { chosenVersion, noVersion, versionsUse } from './artifact.store.ts';
export { keptIgnored } from './ignored-pipelines.ts';
export { insertManifest, manifestFiles } from './manifest.store.ts';
export { createPipelineChecks } from './pipeline-checks.ts';
export { isPipelinePath, type PipelineDescription, pathOf } from './pipeline-description.ts';
export { createPipelineReader } from './pipeline-reader.ts';
export { ofPart, requireNoErrors } from './strict-upload.ts';
export { readUpload, type Upload, type UploadLimits } from './upload.ts';
