export { agentRoutes } from './agent.routes.ts';
export { heardOf, lockAgentStatus, settleStatus } from './agent.status.ts';
export { findOnlyAgent, requireAgent } from './agent.store.ts';
export { agentStates, connectedSeconds } from './agent.ts';
export { agentOfSecretKey, currentSecret, secretWakeKey } from './agent-secret.store.ts';
export { type RegisteredAgent, registerLocalAgent } from './local-agent.store.ts';
