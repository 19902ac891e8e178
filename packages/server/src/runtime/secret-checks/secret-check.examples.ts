/** A successful check of secret references. */
import { createCheckingAgent } from '../../../testing/checking-agent.ts';
import type { Examples } from '../../../testing/place.ts';
import { createSecretReference } from '../../workspace/secret-references/secret-reference.examples.ts';

export const secretCheckExamples: Examples = {
  async checkSecretReferences(place) {
    const [name = ''] = (await createSecretReference(place)).split('/').slice(-1);
    const agent = await createCheckingAgent(place.account, { name: place.named('oslo-2') });
    // The agent responds while the request waits, or not at all if the request is refused.
    void agent.answerNext(() => ({ finding: 'RESOLVED' })).catch(() => undefined);
    const body = { secretReferenceNames: [name], agentId: agent.agentId };
    return { path: `${place.project.path}/secret-references/check`, body };
  },
};
