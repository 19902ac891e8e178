export { artifactRoutes } from './artifact.routes.ts';
export { insertManifest, manifestFiles, runnableVersion, versionsUse } from './artifact.store.ts';
export type { PipelineDescription } from './pipeline-description.ts';
export type { Upload, UploadLimits } from './upload.ts';
