/** An HTTP API for tests, on loopback. It keeps what it was sent. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { listenOnLoopback } from '@headgate/contract/testing/loopback-server';

export interface SeenRequest {
  method: string;
  /** Path and query. */
  url: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: string;
}

/** A value is answered as JSON; what is undefined, the function has answered itself. */
export type Answer = (request: SeenRequest, response: ServerResponse) => unknown;

export interface FakeApi {
  /** `http://127.0.0.1:PORT`. */
  origin: string;
  requests: SeenRequest[];
  /** Answers further requests by this function. */
  answer(by: Answer): void;
  close(): Promise<void>;
}

export async function startFakeApi(by: Answer = () => ({})): Promise<FakeApi> {
  let current = by;
  const requests: SeenRequest[] = [];
  const { origin, close } = await listenOnLoopback(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://api');
    const { method = '', url = '', headers } = request;
    const seen = { method, url, path: pathname, query: searchParams, headers, body };
    requests.push(seen);
    const answered = await current(seen, response);
    if (answered === undefined) return;
    if (!response.hasHeader('content-type')) response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answered));
  });
  return {
    origin,
    requests,
    answer(next) {
      current = next;
    },
    close,
  };
}
