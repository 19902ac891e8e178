export { agentRoutes } from './agent.routes.ts';
export { onlyAgent, registerLocalAgent, requireAgent } from './agent.store.ts';
