import type { Slice } from '../../kernel/slice/slice.ts';
import { type AgentServices, agentRoutes } from './agent.routes.ts';

export { heardOf, lockAgentStatus, settleStatus } from './agent.status.ts';
export { findOnlyAgent, requireAgent } from './agent.store.ts';
export { agentStates, connectedSeconds } from './agent.ts';
export { agentOfSecretKey, currentSecret, secretWakeKey } from './agent-secret.store.ts';
export { type RegisteredAgent, registerLocalAgent } from './local-agent.store.ts';

export const agents: Slice<AgentServices> = { name: 'agents', routes: agentRoutes };
