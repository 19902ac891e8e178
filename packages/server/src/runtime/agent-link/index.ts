export { createAgentEndpoints } from './agent-endpoint.ts';
export { agentLinkRoutes } from './agent-link.routes.ts';
export { sweepAgents } from './agent-sweep.ts';
export { type CallingAgent, secretRefreshed } from './known-agents.ts';
