/**
 * Sends requests of the API inside the process, so that a tool has exactly the effects, the checks and the
 * events of the operation. The token is for this caller and does not leave the process.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { AnswerOf, BodyOf, Operation, ParamsOf, QueryOf } from '@headgate/contract';
import type { FastifyInstance } from 'fastify';
import { publicPrefix } from '../../../kernel/endpoint/write.ts';
import type { Scope } from '../../../kernel/security/permissions.ts';
import type { Tokens } from '../../../kernel/security/tokens.ts';
import { ToolFault } from './tool-fault.ts';

/** A refusal that the model can act on. */
export class Refused extends ToolFault {
  readonly status: number;
  readonly code: string;

  constructor(status: number, { code, detail, violations = [] }: RefusalBody) {
    super([detail, ...violations].join('\n'));
    this.status = status;
    this.code = code;
  }
}

interface RefusalBody {
  code: string;
  detail: string;
  violations?: string[];
}

type Members<Op extends Operation> = {
  params?: ParamsOf<Op>;
  query?: Partial<QueryOf<Op>>;
  body?: Partial<BodyOf<Op>>;
};

export interface Platform {
  /** Called once, when the server that has the routes is there. */
  serve(app: FastifyInstance): void;
  /**
   * A failure that passes is repeated with growing pauses.
   *
   * @param key the `Idempotency-Key`
   * @throws Refused, ToolFault
   */
  call<Op extends Operation>(
    operation: Op,
    by: Caller,
    members: Members<Op>,
    key?: string,
  ): Promise<AnswerOf<Op>>;
}

export interface Caller {
  as: Scope;
  /** Ends the waiting for the answer, and the pauses. */
  signal: AbortSignal;
}

/** A timeout of an agent passes only if the agent does, so the model reads it. */
const passing = [429, 500, 502, 503];
const mostAttempts = 5;
const firstPauseMilliseconds = 250;
const longestPauseMilliseconds = 30_000;

export function createPlatform(tokens: Tokens): Platform {
  let app: FastifyInstance | undefined;
  return {
    serve(server) {
      app = server;
    },
    async call(operation, { as, signal }, members, key) {
      if (app === undefined) throw new Error('The routes are not there yet.');
      for (let attempt = 1; ; attempt += 1) {
        // Each attempt has its own token: pauses may be longer than a token lives.
        const token = await tokens.issue({ ...as, clientId: 'ai-task' }, operation.surface);
        const answer = await app.inject({ ...renderRequest(operation, members, token, key), signal });
        if (answer.statusCode < 400) return answer.body === '' ? (undefined as never) : answer.json();
        const refusal = answer.json<RefusalBody>();
        if (!passing.includes(answer.statusCode)) throw new Refused(answer.statusCode, refusal);
        if (attempt === mostAttempts) throw new ToolFault(describePassing(answer.statusCode, refusal));
        await delay(computePause(attempt, answer.headers['retry-after']), undefined, { signal });
      }
    },
  };
}

function describePassing(status: number, { detail }: RefusalBody): string {
  return `the platform did not answer ${mostAttempts} attempts (${status}: ${detail}): check whether it has happened, and try again later`;
}

function computePause(attempt: number, retryAfter: unknown): number {
  const advised = Number(retryAfter) * 1_000;
  const pause = advised >= 0 ? advised : firstPauseMilliseconds * 2 ** (attempt - 1);
  return Math.min(longestPauseMilliseconds, pause);
}

function renderRequest(
  operation: Operation,
  {
    params = {},
    query = {},
    body,
  }: { params?: object | undefined; query?: object | undefined; body?: unknown },
  token: string,
  key: string | undefined,
) {
  return {
    method: operation.method as 'GET',
    url: renderPath(operation, params) + renderQuery(query),
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
  };
}

function renderPath({ path }: Operation, params: object): string {
  const values = new Map(Object.entries(params));
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(values.get(name))),
  );
  return publicPrefix + filled;
}

function renderQuery(query: object): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((each): [string, string] => [name, String(each)]),
  );
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
}
