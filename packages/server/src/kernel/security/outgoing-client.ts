/**
 * HTTP requests to addresses that a tenant has set, such as those of webhooks.
 *
 * The egress guard checks the address at each request and each redirect, and the connection goes to one of the
 * checked IP addresses, with the URL's host as Host header and TLS server name: a name that resolves to another
 * address a moment later has no effect. Time, redirects, headers and body of the response are bounded,
 * because the receiver may be hostile.
 */
import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { request as secureRequest, Agent as TlsAgent } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { CheckedAddress, EgressGuard } from './egress.ts';
import { EgressRefused } from './egress.ts';
import { explainFailure } from './outgoing-failure.ts';

export interface OutgoingPost {
  url: string;
  /** Without Host and Content-Length. */
  headers: Readonly<Record<string, string>>;
  body: string;
}

export type OutgoingResult =
  /** `retryAfter`: the header, as the receiver wrote it. */
  | { kind: 'answered'; status: number; retryAfter?: string }
  /** There was no complete status and header; `reason` is a sentence for the tenant. */
  | { kind: 'failed'; reason: string }
  /** The caller stopped it. */
  | { kind: 'stopped' };

export interface OutgoingClient {
  /** Sends one POST and follows its redirects. Never throws for what the receiver does. */
  post(expected: OutgoingPost, stopping: AbortSignal): Promise<OutgoingResult>;
  /** Closes the kept connections. */
  close(): void;
}

export interface OutgoingOptions {
  guard: EgressGuard;
  /** For a request with all its redirects. */
  timeoutMilliseconds: number;
  /** More certificate authorities to trust, for tests. */
  ca?: string;
}

const mostRedirects = 3;
const mostHeaderBytes = 16_384;
/** The rest of a response's body is not read: its connection is closed. */
const mostBodyBytes = 65_536;
/** How long the body of a response may take after its headers. */
const bodyMilliseconds = 2_000;
/** A connection is kept this long for the next request. */
const idleMilliseconds = 4_000;
/** How long the first addresses of a name are tried before the next one. */
const attemptMilliseconds = 2_000;
const checkedMilliseconds = 1_000;

export function createOutgoingClient(options: OutgoingOptions): OutgoingClient {
  const keeping = { keepAlive: true, maxSockets: 4, maxFreeSockets: 2, timeout: idleMilliseconds };
  const agents = {
    'http:': new PlainAgent(keeping),
    'https:': new TlsAgent({ ...keeping, ...(options.ca === undefined ? {} : { ca: options.ca }) }),
  };
  const check = rememberChecks(options.guard);

  async function follow(expected: OutgoingPost, signal: AbortSignal): Promise<OutgoingResult> {
    let url = expected.url;
    for (let redirects = 0; ; redirects += 1) {
      const checked = await endWith(signal, check(url));
      const received = await sendWithRepeat(agents, checked, expected, signal);
      if (!isRedirect(received.status)) {
        const { status, retryAfter } = received;
        return { kind: 'answered', status, ...(retryAfter === undefined ? {} : { retryAfter }) };
      }
      const next = findTarget(received, checked.url);
      if (typeof next !== 'string') return next;
      if (redirects === mostRedirects)
        return { kind: 'failed', reason: `The receiver redirects more than ${mostRedirects} times.` };
      url = next;
    }
  }

  return {
    async post(expected, stopping) {
      const timeout = AbortSignal.timeout(options.timeoutMilliseconds);
      try {
        return await follow(expected, AbortSignal.any([timeout, stopping]));
      } catch (failure) {
        if (stopping.aborted) return { kind: 'stopped' };
        if (timeout.aborted) {
          const seconds = options.timeoutMilliseconds / 1_000;
          return { kind: 'failed', reason: `There was no response within ${seconds} s.` };
        }
        if (failure instanceof EgressRefused) return { kind: 'failed', reason: failure.message };
        return { kind: 'failed', reason: explainFailure(failure) };
      }
    },
    close() {
      agents['http:'].destroy();
      agents['https:'].destroy();
    },
  };
}

/** Answers with the checked addresses, even if the name has other ones by now. */
export function createPinnedLookup(addresses: CheckedAddress['addresses']): LookupFunction {
  return (_, { all }, answer) => {
    const [first] = addresses;
    if (all) answer(null, [...addresses]);
    else answer(null, first?.address ?? '', first?.family);
  };
}

/** A burst of requests to one receiver resolves its name once a second. */
function rememberChecks(guard: EgressGuard): (url: string) => Promise<CheckedAddress> {
  let last: { url: string; at: number; checked: CheckedAddress } | undefined;
  return async (url) => {
    const now = performance.now();
    if (last?.url === url && now - last.at < checkedMilliseconds) return last.checked;
    const checked = await guard.check(url);
    last = { url, at: now, checked };
    return checked;
  };
}

interface Received {
  status: number;
  location: string | undefined;
  retryAfter: string | undefined;
}

interface Agents {
  'http:': PlainAgent;
  'https:': TlsAgent;
}

/**
 * A receiver may close a kept connection at the moment when the next request is sent on it. Such a request is
 * sent once more, on a new connection.
 */
async function sendWithRepeat(
  agents: Agents,
  checked: CheckedAddress,
  expected: OutgoingPost,
  signal: AbortSignal,
): Promise<Received> {
  try {
    return await sendOnce(agents, checked, expected, signal);
  } catch (failure) {
    if (!(failure instanceof KeptConnectionClosed)) throw failure;
    return sendOnce(agents, checked, expected, signal);
  }
}

class KeptConnectionClosed extends Error {
  override name = 'KeptConnectionClosed';
}

function sendOnce(
  agents: Agents,
  { url, addresses }: CheckedAddress,
  { headers, body }: OutgoingPost,
  signal: AbortSignal,
): Promise<Received> {
  const isTls = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const options = {
    method: 'POST',
    // An address that is written as such is not looked up: it is the checked one.
    host,
    lookup: createPinnedLookup(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: attemptMilliseconds,
    port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
    path: url.pathname + url.search,
    headers: { ...headers, host: url.host, 'content-length': Buffer.byteLength(body) },
    maxHeaderSize: mostHeaderBytes,
    signal,
  };
  return new Promise((resolve, reject) => {
    const request = isTls
      ? secureRequest({ ...options, agent: agents['https:'], servername: isIP(host) === 0 ? host : '' })
      : plainRequest({ ...options, agent: agents['http:'] });
    request.on('error', (failure: NodeJS.ErrnoException) => {
      const isStale = request.reusedSocket && /^(ECONNRESET|EPIPE)$/.test(failure.code ?? '');
      reject(isStale ? new KeptConnectionClosed() : failure);
    });
    request.on('response', (response) => {
      const { location, 'retry-after': retryAfter } = response.headers;
      const received = { status: response.statusCode ?? 0, location, retryAfter };
      drain(response, () => request.destroy()).then(() => resolve(received));
    });
    // Without this, Node.js closes the connection of a 101 without an event: the request would never end.
    request.on('upgrade', ({ statusCode = 0 }, socket) => {
      socket.destroy();
      resolve({ status: statusCode, location: undefined, retryAfter: undefined });
    });
    request.end(body);
  });
}

/** Reads the body, which frees the connection, or ends the connection if the body is too long or too slow. */
function drain(response: IncomingMessage, destroy: () => void): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0;
    const timer = setTimeout(destroy, bodyMilliseconds);
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > mostBodyBytes) destroy();
    });
    response.on('error', () => undefined);
    response.on('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

const isRedirect = (status: number) => status >= 300 && status < 400 && status !== 304;

/** Only 307 and 308 keep the method and the body (RFC 9110 §15.4). */
function findTarget({ status, location }: Received, from: URL): string | OutgoingResult {
  if (status !== 307 && status !== 308)
    return {
      kind: 'failed',
      reason: `The receiver redirects by ${status}; only 307 and 308 keep a POST.`,
    };
  if (location === undefined || !URL.canParse(location, from.href))
    return { kind: 'failed', reason: `The receiver redirects by ${status} without a valid Location.` };
  return new URL(location, from.href).href;
}

/** Rejects when the signal is aborted first: a resolver may take longer than allowed. */
export async function endWith<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort);
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
