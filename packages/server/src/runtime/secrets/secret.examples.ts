/** A successful request for each operation on secrets, and for each message of an agent about them. */
import { claimOne, instanceId } from '../../../testing/executions.ts';
import type { Examples } from '../../../testing/place.ts';
import { createSealingAgent, makeCertificateRequest, makeKeys } from '../../../testing/sealing-agent.ts';
import { createSecretReference } from '../../workspace/secret-references/secret-reference.examples.ts';

/** The secret that the leak tests search for after sending the example. */
export const secretOfExample = 'correct "horse"/battery+ staple é';

export const secretExamples: Examples = {
  getAgentCertificate: async ({ account }) => ({
    path: `/agents/${(await createSealingAgent(account)).agentId}/certificate`,
  }),
  writeSecretValue: async ({ account, named }) => {
    const agent = await createSealingAgent(account);
    // The agent responds while the request waits, or not at all if the request is refused.
    void agent.confirmNext().catch(() => undefined);
    const secret = {
      name: named('orders-api'),
      type: 'PASSWORD',
      value: { password: secretOfExample },
    };
    return { path: `/secrets/${agent.agentId}/secret-value?provider=AWS`, body: { secret } };
  },
};

/** Messages of the agent protocol. */
export const secretMessageExamples: Examples = {
  async agentCertificate() {
    return {
      path: '/certificates',
      body: { instanceId, request: await makeCertificateRequest(makeKeys('ec')) },
    };
  },
  async agentSecretReference(place) {
    const { work } = await claimOne(place);
    const [name = ''] = (await createSecretReference(place)).split('/').slice(-1);
    return { path: '/secret-references', body: { instanceId, workId: work.workId, epoch: work.epoch, name } };
  },
};
