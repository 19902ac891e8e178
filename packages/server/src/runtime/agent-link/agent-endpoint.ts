/** Routes of the agent protocol: an agent's token, its request checked, its account; what an agent may is all that concerns its own work. */
import type { AnswerOf, BodyOf, Operation, ParamsOf } from '@headgate/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { statement } from '../../kernel/database.ts';
import { bearer, routePath, type Services } from '../../kernel/endpoint.ts';
import { type Problem, problem } from '../../kernel/problems.ts';
import type { TokenOwner } from '../../kernel/tokens.ts';
import { requestCheck } from '../../kernel/validation.ts';

export interface CallingAgent {
  accountId: string;
  agentId: string;
  name: string;
  /** Of the secret that its token was given for: the current one. */
  generation: number;
}

export interface AgentCall<Op extends Operation> {
  params: ParamsOf<Op>;
  body: BodyOf<Op>;
  agent: CallingAgent;
  request: FastifyRequest;
  reply: FastifyReply;
  /** Aborted when the agent went away: whoever waits for it stops. */
  signal: AbortSignal;
}

const selectAgent = statement<{ name: string; secret_generation: number }>(
  'select name, secret_generation from agent where account_id = $1 and agent_id = $2',
);
/** How long an agent is known without asking again; one that is deleted, and a token of a secret before, are refused within it. */
const knownMilliseconds = 2_000;

/** For a token of a secret before: its agent gets another. */
export function secretRefreshed(): Problem {
  return problem('token-invalid', { reason: 'the secret of its agent was refreshed; get a new one.' });
}

export function createAgentEndpoints(app: FastifyInstance, services: Services) {
  const known = new Map<string, { agent: CallingAgent; until: number }>();

  async function look({ accountId, actorId: agentId }: TokenOwner, now: number) {
    const [row] = await services.database.read(selectAgent, [accountId, agentId]);
    known.delete(agentId);
    if (row === undefined) throw problem('token-invalid', { reason: 'its agent was deleted.' });
    const agent = { accountId, agentId, name: row.name, generation: row.secret_generation };
    const found = { agent, until: now + knownMilliseconds };
    known.set(agentId, found);
    return found;
  }

  async function identify(request: FastifyRequest): Promise<CallingAgent> {
    const owner = await services.tokens.verify(bearer(request), 'agent');
    const now = services.clock.now().getTime();
    const generation = owner.generation ?? 0;
    const remembered = known.get(owner.actorId);
    const { agent } =
      remembered !== undefined && remembered.until > now && remembered.agent.generation === generation
        ? remembered
        : await look(owner, now);
    if (agent.generation !== generation) throw secretRefreshed();
    return agent;
  }

  return function serve<Op extends Operation>(
    operation: Op,
    handler: (call: AgentCall<Op>) => Promise<AnswerOf<Op> | FastifyReply>,
  ): void {
    const check = requestCheck(operation);
    app.route({
      method: operation.method,
      url: routePath(operation),
      config: { operation },
      handler: async (request, reply) => {
        const agent = await identify(request);
        check({ params: request.params, query: request.query, headers: request.headers, body: request.body });
        const gone = new AbortController();
        // Of the answer: the request closes when its body was read, and says nothing of the connection from then on.
        reply.raw.once('close', () => {
          if (!reply.raw.writableEnded) gone.abort();
        });
        const call = {
          params: request.params,
          body: request.body,
          agent,
          request,
          reply,
          signal: gone.signal,
        };
        const answer = await handler(call as unknown as AgentCall<Op>);
        return reply.sent ? reply : reply.code(operation.success.status).send(answer);
      },
    });
  };
}
