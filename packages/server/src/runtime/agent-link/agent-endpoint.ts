/** Routes of the agent protocol: an agent's token, its request checked, its account; what an agent may is all that concerns its own work. */
import type { AnswerOf, BodyOf, Operation, ParamsOf } from '@headgate/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { bearer, routePath, type Services } from '../../kernel/endpoint.ts';
import { requestCheck } from '../../kernel/validation.ts';
import type { Gone } from '../../kernel/wakes.ts';
import { type CallingAgent, createKnownAgents, knownMilliseconds } from './known-agents.ts';

export interface AgentCall<Op extends Operation> {
  params: ParamsOf<Op>;
  body: BodyOf<Op>;
  agent: CallingAgent;
  request: FastifyRequest;
  reply: FastifyReply;
  /** Whether the agent went away: whoever waits for it stops. */
  gone: Gone;
}

export function createAgentEndpoints(
  app: FastifyInstance,
  services: Services,
  known = createKnownAgents(services.database, () => services.clock.now().getTime()),
) {
  /** `knownFor`: since how many milliseconds at most it is known that the caller's token counts. */
  return function serve<Op extends Operation>(
    operation: Op,
    handler: (call: AgentCall<Op>) => Promise<AnswerOf<Op> | FastifyReply>,
    knownFor = knownMilliseconds,
  ): void {
    const check = requestCheck(operation);
    app.route({
      method: operation.method,
      url: routePath(operation),
      config: { operation },
      handler: async (request, reply) => {
        const owner = await services.tokens.verify(bearer(request), 'agent');
        const agent = await known.identify(owner, knownFor);
        check({ params: request.params, query: request.query, headers: request.headers, body: request.body });
        const call = {
          params: request.params,
          body: request.body,
          agent,
          request,
          reply,
          gone: new Leaving(reply),
        };
        const answer = await handler(call as unknown as AgentCall<Op>);
        return reply.sent ? reply : reply.code(operation.success.status).send(answer);
      },
    });
  };
}

/** Of a request that waits for long only what its answer needs is kept: the rest is some kilobytes, ten thousand times. */
export function forgetHeaders({ raw }: FastifyRequest): void {
  const accepted = raw.headers['accept-encoding'];
  raw.rawHeaders = [];
  raw.headers = accepted === undefined ? {} : { 'accept-encoding': accepted };
}

/** A connection that closes before its answer, as an AbortSignal tells it: ten thousand of those are too large, and it is mostly not asked for. */
class Leaving implements Gone {
  readonly #reply: FastifyReply;

  constructor(reply: FastifyReply) {
    this.#reply = reply;
  }

  get aborted(): boolean {
    return this.#reply.raw.destroyed && !this.#reply.raw.writableEnded;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#reply.raw.once('close', listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#reply.raw.off('close', listener);
  }
}
