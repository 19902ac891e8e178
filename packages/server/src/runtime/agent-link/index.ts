import type { Slice } from '../../kernel/slice/slice.ts';
import { type AgentLinkServices, agentLinkRoutes } from './agent-link.routes.ts';
import { agentSweepJob } from './agent-sweep.ts';

export { createAgentEndpoints } from './agent-endpoint.ts';
export { type CallingAgent, createSecretRefreshed as secretRefreshed } from './known-agents.ts';

export const agentLink: Slice<AgentLinkServices> = {
  name: 'agent-link',
  routes: agentLinkRoutes,
  periodic: (services) => [agentSweepJob(services)],
};
