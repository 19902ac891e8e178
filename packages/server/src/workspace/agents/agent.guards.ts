/** What this slice contributes to the tests over all operations. */

import { countedDescription } from '../../../testing/counted-description.ts';
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { agentExamples } from './agent.examples.ts';

export const agentGuards: SliceGuards = {
  examples: agentExamples,
  uniqueNames: {
    createAgent: ({ account }, name) =>
      account.admin.post('/agents', {
        name,
        agentType: 'streaming',
        cloudProvider: 'gcp',
        deployment: 'gke',
      }),
    async updateAgent({ account }, name) {
      const { agentId } = await account.agent();
      return account.admin.patch(`/agents/${agentId}`, { name });
    },
  },
  counted: { updateAgent: { ...countedDescription, path: ({ agent }) => `/agents/${agent.agentId}` } },
};
