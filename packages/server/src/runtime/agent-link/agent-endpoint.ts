/**
 * Routes of the agent protocol: they verify the agent's token, validate the request and find its account.
 * An agent may access everything that concerns its own work.
 */
import type { AnswerOf, BodyOf, Operation, ParamsOf } from '@headgate/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Wakes } from '../../kernel/database/wakes.ts';
import { renderRoutePath, type Services } from '../../kernel/endpoint/endpoint.ts';
import { takeReadBody } from '../../kernel/http/body-reading.ts';
import { createRequestCheck } from '../../kernel/http/validation.ts';
import { createAdmission, requireTokenOwner } from '../../kernel/security/admission.ts';
import { type CallingAgent, createKnownAgents, knownMilliseconds } from './known-agents.ts';

export interface AgentCall<Op extends Operation> {
  params: ParamsOf<Op>;
  body: BodyOf<Op>;
  agent: CallingAgent;
  request: FastifyRequest;
  reply: FastifyReply;
}

/** Returned by a handler that sends its response later, through the reply. */
export const answersLater = Symbol('answers later');

export function createAgentEndpoints(
  app: FastifyInstance,
  services: Services & { wakes: Wakes },
  known = createKnownAgents(services.database, services.wakes, () => services.clock.now().getTime()),
) {
  /** `knownFor`: the maximum age, in milliseconds, of the check that the caller's token is valid. */
  return function serve<Op extends Operation>(
    operation: Op,
    handler: (call: AgentCall<Op>) => Promise<AnswerOf<Op> | FastifyReply> | typeof answersLater,
    knownFor = knownMilliseconds,
  ): void {
    const check = createRequestCheck(operation);

    async function answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const agent = await known.identify(requireTokenOwner(request), knownFor);
      const { params, query, headers } = request;
      const parts = { params, query, headers, body: undefined };
      check(parts, takeReadBody(request));
      const { body } = parts;
      reply.code(operation.success.status);
      const answered = await handler({ params, body, agent, request, reply } as unknown as AgentCall<Op>);
      if (answered !== answersLater && !reply.sent) reply.send(answered);
    }

    app.route({
      method: operation.method,
      url: renderRoutePath(operation),
      config: { operation },
      onRequest: createAdmission(operation, services),
      // Fastify must not await this: it would keep its state until the response.
      handler(request, reply) {
        answer(request, reply).catch((failure: unknown) => reply.send(failure));
      },
    });
  };
}

/**
 * Releases what the response of a waiting request does not need: some kilobytes, for ten thousand requests.
 */
export function forgetHeaders({ raw }: FastifyRequest): void {
  const accepted = raw.headers['accept-encoding'];
  raw.rawHeaders = [];
  raw.headers = accepted === undefined ? {} : { 'accept-encoding': accepted };
}
