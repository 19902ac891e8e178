import type { Slice } from '../../kernel/slice/slice.ts';
import { type AgentServices, agentRoutes } from './agent.routes.ts';

export { hasLiveInstance, lockAgentStatus, updateStatus } from './agent.status.ts';
export { findOnlyAgent, requireAgent } from './agent.store.ts';
export { agentStates, connectedSeconds } from './agent.ts';
export { findCurrentSecret, parseSecretWakeKey, renderSecretWakeKey } from './agent-secret.store.ts';
export {
  allowedInEnvironment,
  answeringColumns,
  answeringOf,
  findObstacle,
} from './answering-agent.ts';
export { type RegisteredAgent, registerLocalAgent } from './local-agent.store.ts';
export { listVaultNames, requireVaultNames } from './vault-names.ts';

export const agents: Slice<AgentServices> = { name: 'agents', routes: agentRoutes };
