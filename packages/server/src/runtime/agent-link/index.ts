export { type CallingAgent, createAgentEndpoints, secretRefreshed } from './agent-endpoint.ts';
export { agentLinkRoutes } from './agent-link.routes.ts';
export { sweepAgents } from './agent-sweep.ts';
