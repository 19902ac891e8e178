/** Issues certificates to the instances of agents. */
import { agentCertificate } from '@headgate/contract';
import { recordEvents } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { createAgentEndpoints } from '../agent-link/index.ts';
import type { SecretServices } from './secret.routes.ts';
import { keepCertificate } from './secret.store.ts';

export function certificateRoutes({ app }: Endpoints, services: SecretServices): void {
  const serve = createAgentEndpoints(app, services);
  serve(agentCertificate, async ({ agent, body, request }) => {
    const { accountId, agentId, name, generation } = agent;
    const { instanceId } = body;
    const issued = await services.authority.issue(body.request, { agentId, instanceId });
    const now = services.clock.now();
    await services.database.transaction(async (tx) => {
      await keepCertificate(tx, { accountId, agentId, instanceId, generation }, issued, now);
      const source = { accountId, actorId: agentId, actorKind: 'agent', requestId: request.id } as const;
      const { keyId, keyType, notAfter } = issued;
      const after = { instanceId, keyId, keyType, notAfter };
      const subject = { type: 'agent', id: agentId, name };
      recordEvents(tx, source, [{ name: 'certificate-issued', subject, after }], now, services.newId);
    });
    return {
      certificate: issued.certificate,
      issuerChain: await services.authority.findChain(issued.authorityId),
      kid: issued.keyId,
      notBefore: issued.notBefore.toISOString(),
      notAfter: issued.notAfter.toISOString(),
    };
  });
}
