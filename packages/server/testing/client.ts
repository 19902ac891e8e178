/** An API client for tests. It checks every response against the contract. */
import assert from 'node:assert/strict';
import type { ProblemCode, ProblemDetail } from '@headgate/contract';
import { type Received, requireContract } from './contract-check.ts';

export interface Sent {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | Buffer | undefined;
}

export type Transport = (sent: Sent) => Promise<Received>;

export interface Asked {
  headers?: Record<string, string>;
  /** Sent as JSON, except texts and bytes, which are sent unchanged. */
  body?: unknown;
}

export class Answer<Body = unknown> {
  readonly #received: Received;

  constructor(received: Received) {
    this.#received = received;
  }

  get status(): number {
    return this.#received.status;
  }

  get headers(): Received['headers'] {
    return this.#received.headers;
  }

  get text(): string {
    return this.#received.text;
  }

  get etag(): string {
    return this.headers.etag ?? assert.fail('the answer has no ETag');
  }

  /** The body of a success; fails the test with the problem otherwise. */
  get body(): Body {
    assert.ok(this.status < 400, `${this.#received.method} ${this.#received.url}: ${this.text}`);
    return JSON.parse(this.text) as Body;
  }

  get problem(): ProblemDetail {
    assert.ok(this.status >= 400, `${this.#received.method} ${this.#received.url} succeeded: ${this.text}`);
    return JSON.parse(this.text) as ProblemDetail;
  }
}

export interface Client {
  send<Body>(method: string, path: string, request?: Asked): Promise<Answer<Body>>;
  get<Body>(path: string, request?: Asked): Promise<Answer<Body>>;
  post<Body>(path: string, body?: unknown, request?: Asked): Promise<Answer<Body>>;
  patch<Body>(path: string, body?: unknown, request?: Asked): Promise<Answer<Body>>;
  delete(path: string, request?: Asked): Promise<Answer>;
}

/** `token` is called for each request, so that a token that expired with a moved clock is replaced. */
export function createClient(
  transport: Transport,
  base: string,
  token: () => Promise<string | undefined>,
): Client {
  async function send<Body>(method: string, path: string, { headers = {}, body }: Asked = {}) {
    const sent: Sent = { method, url: base + path, headers: { ...headers }, body: undefined };
    const bearer = await token();
    if (bearer !== undefined) sent.headers.authorization ??= `Bearer ${bearer}`;
    if (typeof body === 'string' || Buffer.isBuffer(body)) sent.body = body;
    else if (body !== undefined) sent.body = JSON.stringify(body);
    if (sent.body !== undefined) sent.headers['content-type'] ??= 'application/json';
    const received = await transport(sent);
    requireContract(received);
    return new Answer<Body>(received);
  }
  return {
    send,
    get: (path, request) => send('GET', path, request),
    post: (path, body, request) => send('POST', path, { ...request, body }),
    patch: (path, body, request) => send('PATCH', path, { ...request, body }),
    delete: (path, request) => send('DELETE', path, request),
  };
}

export function requireProblem(answer: Answer, status: number, code: ProblemCode): ProblemDetail {
  const { problem } = answer;
  assert.deepEqual({ status: answer.status, code: problem.code }, { status, code }, answer.text);
  return problem;
}
