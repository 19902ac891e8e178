/**
 * `fetch` for libraries that call an address which a tenant has set, such as that of an identity issuer. The egress
 * guard checks the address, the connection goes to a checked IP address, redirects are not followed, and the time and
 * the size of the response are bounded.
 */
import type { IncomingMessage } from 'node:http';
import { request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import { isIP } from 'node:net';
import type { EgressGuard } from './egress.ts';
import { createPinnedLookup, endWith } from './outgoing-client.ts';

export interface OutgoingFetchOptions {
  guard: EgressGuard;
  timeoutMilliseconds: number;
  mostBytes: number;
  /** More certificate authorities to trust, for tests. */
  ca?: string | undefined;
}

export class ResponseTooLarge extends Error {
  constructor(mostBytes: number) {
    super(`The response is larger than ${mostBytes} bytes.`);
  }
}

export interface FetchInput {
  method?: string | undefined;
  headers?: Record<string, string> | undefined;
  body?: string | undefined;
}

export type OutgoingFetch = (address: string, input: FetchInput) => Promise<Response>;

const mostHeaderBytes = 16_384;
const attemptMilliseconds = 2_000;

/** Throws EgressRefused, ResponseTooLarge, a TimeoutError, and errors of the connection. */
export function createOutgoingFetch(options: OutgoingFetchOptions): OutgoingFetch {
  return async (address, input) => {
    const signal = AbortSignal.timeout(options.timeoutMilliseconds);
    const { url, addresses } = await endWith(signal, options.guard.check(address));
    const lookup = createPinnedLookup(addresses);
    return endWith(signal, send(url, { ...options, lookup, signal }, input));
  };
}

type Sending = OutgoingFetchOptions & { lookup: ReturnType<typeof createPinnedLookup>; signal: AbortSignal };

function send(url: URL, { lookup, signal, ca, mostBytes }: Sending, input: FetchInput): Promise<Response> {
  const isTls = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const { method = 'GET', headers = {}, body } = input;
  const options = {
    method,
    host,
    lookup,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: attemptMilliseconds,
    port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
    path: url.pathname + url.search,
    headers: {
      ...headers,
      host: url.host,
      ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
    },
    maxHeaderSize: mostHeaderBytes,
    signal,
    agent: false as const,
  };
  return new Promise((resolve, reject) => {
    const request = isTls
      ? secureRequest({
          ...options,
          servername: isIP(host) === 0 ? host : '',
          ...(ca === undefined ? {} : { ca }),
        })
      : plainRequest(options);
    request.on('error', reject);
    request.on('response', (response) => {
      readBody(response, mostBytes).then((content) => resolve(toResponse(response, content)), reject);
    });
    // Without this, Node.js closes the connection of a 101 without an event: the request would never end.
    request.on('upgrade', (_response, socket) => {
      socket.destroy();
      reject(new Error('The host answered 101.'));
    });
    request.end(body);
  });
}

async function readBody(response: IncomingMessage, mostBytes: number): Promise<Buffer<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > mostBytes) {
      response.destroy();
      throw new ResponseTooLarge(mostBytes);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const withoutBody = new Set([204, 205, 304]);

function toResponse({ statusCode = 0, headers }: IncomingMessage, content: Buffer<ArrayBuffer>): Response {
  if (statusCode < 200 || statusCode > 599) throw new Error(`The host answered ${statusCode}.`);
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value] as [string, string]],
  );
  return new Response(withoutBody.has(statusCode) ? null : content, { status: statusCode, headers: pairs });
}
