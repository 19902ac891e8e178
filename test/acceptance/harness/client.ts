/** A careful client: it renews its tokens, and repeats requests with the same Idempotency-Key. */
import { setTimeout as delay } from 'node:timers/promises';

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the tests check the members that they read
  body: any;
}

export interface CallOptions {
  body?: unknown;
  headers?: Record<string, string>;
  /** Sent as Idempotency-Key. */
  key?: string;
}

/** A request that takes longer hangs. */
const callMilliseconds = 120_000;

export class ApiClient {
  readonly #url: string;
  readonly #credential: { clientId: string; clientSecret: string };
  #token: Promise<string> | undefined;
  /** All tokens of this client. No log may contain one. */
  readonly tokens: string[] = [];

  constructor(url: string, clientId: string, clientSecret: string) {
    this.#url = url;
    this.#credential = { clientId, clientSecret };
  }

  /** Sends one request. A 401 renews the token once. @throws when there is no response */
  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const first = await this.#once(method, path, options);
    if (first.status !== 401) return first;
    this.#token = undefined;
    return this.#once(method, path, options);
  }

  /** Sends one request. @throws when it does not succeed */
  async ask(method: string, path: string, body?: unknown, headers?: Record<string, string>) {
    const answer = await this.call(method, path, { body, ...(headers ? { headers } : {}) });
    if (answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /**
   * Repeats a request until the response is neither 503 nor `idempotency-key-in-use`.
   * @throws what `give` throws, which is called before each new attempt
   */
  async insist(method: string, path: string, options: CallOptions, give: () => void): Promise<Answer> {
    for (;;) {
      try {
        const answer = await this.call(method, path, options);
        const again = answer.status === 503 || answer.body?.code === 'idempotency-key-in-use';
        if (!again) return answer;
      } catch (failure) {
        if (!(failure instanceof ConnectionLost)) throw failure;
      }
      give();
      await delay(25);
    }
  }

  async #once(method: string, path: string, { body, headers, key }: CallOptions): Promise<Answer> {
    this.#token ??= this.#grant();
    const token = await this.#token.catch((failure) => {
      this.#token = undefined;
      throw failure;
    });
    const form = body instanceof FormData;
    return send(`${this.#url}/dpc${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined || form ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: form ? body : JSON.stringify(body) }),
    });
  }

  async #grant(): Promise<string> {
    const { clientId, clientSecret } = this.#credential;
    const grant = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
    const { status, body } = await send(`${this.#url}/oauth/dpc/token`, {
      method: 'POST',
      body: new URLSearchParams(grant),
    });
    if (status === 503) throw new ConnectionLost('no token: 503');
    if (status !== 200) throw new Error(`no token: ${status} ${JSON.stringify(body)}`);
    this.tokens.push(body.access_token);
    return body.access_token;
  }
}

export class ConnectionLost extends Error {
  override name = 'ConnectionLost';
}

async function send(url: string, init: RequestInit): Promise<Answer> {
  let text: string;
  let response: Response;
  try {
    response = await fetch(url, { ...init, signal: AbortSignal.timeout(callMilliseconds) });
    text = await response.text();
  } catch (failure) {
    if (failure instanceof Error && failure.name === 'TimeoutError') {
      throw new Error(`${init.method ?? 'GET'} ${url} had no answer within ${callMilliseconds} ms`);
    }
    throw new ConnectionLost(String(failure), { cause: failure });
  }
  const json = /json/.test(response.headers.get('content-type') ?? '');
  return {
    status: response.status,
    headers: response.headers,
    body: json && text !== '' ? JSON.parse(text) : text,
  };
}
