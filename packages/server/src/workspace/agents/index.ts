export { agentRoutes } from './agent.routes.ts';
export { connectedSeconds, registerLocalAgent, requireAgent } from './agent.store.ts';
