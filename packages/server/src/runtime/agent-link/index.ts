import { createRemovalJob } from '../../kernel/retention/periodic-job.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { removeExpiredRequests, requestBatch } from '../../kernel/work/agent-request.ts';
import { type AgentLinkServices, agentLinkRoutes } from './agent-link.routes.ts';
import { agentSweepJob } from './agent-sweep.ts';

export { createAgentEndpoints } from './agent-endpoint.ts';
export { type CallingAgent, createSecretRefreshed as secretRefreshed } from './known-agents.ts';

export const agentLink: Slice<AgentLinkServices> = {
  name: 'agent-link',
  routes: agentLinkRoutes,
  periodic: (services) => [
    agentSweepJob(services),
    createRemovalJob(services, {
      kind: 'agent-requests',
      batch: requestBatch,
      remove: removeExpiredRequests,
    }),
  ],
};
