export { agentLinkRoutes } from './agent-link.routes.ts';
