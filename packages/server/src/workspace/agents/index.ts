export { agentRoutes } from './agent.routes.ts';
export { heardOf, lockAgentStatus, settleStatus } from './agent.status.ts';
export { registerLocalAgent, requireAgent } from './agent.store.ts';
export { agentStates, connectedSeconds } from './agent.ts';
