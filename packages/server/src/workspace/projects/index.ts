export { projectRoutes } from './project.routes.ts';
