export { sharedPipelineRoutes } from './shared-pipeline.routes.ts';
export { chooseVersions } from './version-choice.ts';
