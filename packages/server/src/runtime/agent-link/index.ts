export { agentLinkRoutes } from './agent-link.routes.ts';
export { sweepAgents } from './agent-sweep.ts';
