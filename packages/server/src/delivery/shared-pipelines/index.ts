export { sharedPipelineRoutes } from './shared-pipeline.routes.ts';
export { sharedVersionsUse } from './shared-pipeline.store.ts';
export { chooseVersions } from './version-choice.ts';
