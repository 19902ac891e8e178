export { agentRoutes } from './agent.routes.ts';
export { registerLocalAgent, requireAgent } from './agent.store.ts';
