/**
 * Calls one endpoint of a profile, page by page. Secrets are added here and nowhere else, and only to requests
 * for the server that the profile's own address names.
 */
import {
  type Authentication,
  type AuthenticationType,
  type ConnectorEndpoint,
  ConnectorError,
  createEndpointRequest,
  type EndpointRequest,
  type EndpointValues,
  type PageRequest,
  PermanentFault,
} from '@headgate/pipelines';
import type { Time } from '../time.ts';
import { waitUnlessAborted } from '../unless-aborted.ts';
import { type CredentialSources, type Credentials, createCredentials } from './authentication.ts';
import { type Exchange, ExchangeError, type ReceivedResponse } from './exchange.ts';
import type { Paces } from './rate.ts';
import {
  attemptLimit,
  createPauses,
  isPermanentStatus,
  judgeResponse,
  longestPauseMilliseconds,
  mayRepeat,
  type Verdict,
} from './waiting.ts';

export interface EndpointCallOptions {
  endpoint: ConnectorEndpoint;
  authentication: Authentication;
  values: EndpointValues;
  sources: CredentialSources;
  exchange: Exchange;
  paces: Paces;
  time: Pick<Time, 'now' | 'sleep' | 'random'>;
  /** Tells environments apart that call the same server. */
  paceKey: string;
  /** Bytes of all responses. */
  totalBytes: number;
  /** Removes secrets from what a message quotes of a response. */
  conceal(text: string): string;
}

export interface FetchedPage {
  /** The address of the request, without secrets. */
  url: string;
  status: number;
  headers: Readonly<Record<string, string>>;
  text: string;
}

/** Without secrets. */
export type AuthenticatedRequest = EndpointRequest & { authenticatesBy: AuthenticationType };

export interface EndpointCall {
  /** Any status. @throws ConnectorError, ExchangeError, EgressRefused, or the reason of the signal */
  send(
    page: Omit<PageRequest, 'number'>,
    signal: AbortSignal,
  ): Promise<FetchedPage & { sent: AuthenticatedRequest }>;
  /** A successful response. @throws as `send`, and for another status */
  fetch(page: Omit<PageRequest, 'number'>, signal: AbortSignal): Promise<FetchedPage>;
}

const redirectLimit = 5;
const quoteLength = 300;
/** Of a response that is quoted. */
const readLength = 65_536;

export function createEndpointCall(options: EndpointCallOptions): EndpointCall {
  const { endpoint, exchange, sources, authentication, time } = options;
  const { origin } = new URL(endpoint.url);
  const pace = options.paces.find(`${origin} ${options.paceKey}`);
  let credentials: Awaited<ReturnType<typeof createCredentials>> | undefined;
  let receivedBytes = 0;

  /** Vaults and token servers may be slower than the time that is left for a page. */
  const authenticate = (signal: AbortSignal, refused?: string) =>
    waitUnlessAborted(createCredentials(authentication, sources, refused), signal);

  /** Follows redirects of the same server. Another server would get the credentials. */
  async function sendOnce(request: EndpointRequest, signal: AbortSignal): Promise<ReceivedResponse> {
    let url = new URL(request.url);
    for (let redirects = 0; ; redirects += 1) {
      requireOrigin(url, origin);
      credentials ??= await authenticate(signal);
      await pace.wait(endpoint.rateLimit, signal);
      const response = await exchange.send(
        addCredentials({ ...request, url: url.href }, credentials),
        signal,
      );
      receivedBytes += response.bytes;
      if (receivedBytes > options.totalBytes)
        throw new ConnectorError(
          `the responses have more than ${Math.round(options.totalBytes / 1_048_576)} MiB, which is the limit of a load: ask for fewer rows`,
        );
      const target = readRedirect(request.method, response, url);
      if (target === undefined) return response;
      if (redirects >= redirectLimit)
        throw new ConnectorError(`${url.origin} redirects more than ${redirectLimit} times`);
      url = target;
    }
  }

  /** A token may end between two pages. It is replaced once. */
  async function sendAuthorized(request: EndpointRequest, signal: AbortSignal): Promise<ReceivedResponse> {
    const response = await sendOnce(request, signal);
    const token = credentials?.token;
    if (response.status !== 401 || token === undefined) return response;
    credentials = await authenticate(signal, token);
    return sendOnce(request, signal);
  }

  async function sendPatiently(request: EndpointRequest, signal: AbortSignal): Promise<ReceivedResponse> {
    const pauses = createPauses(time.random);
    for (let attempt = 1; ; attempt += 1) {
      let verdict: Exclude<Verdict, 'use'> = 'again';
      try {
        const response = await sendAuthorized(request, signal);
        const judged = judgeResponse(request.method, response, new Date());
        if (judged === 'use' || attempt >= attemptLimit) return response;
        verdict = judged;
      } catch (error) {
        signal.throwIfAborted();
        if (attempt >= attemptLimit || !mayRepeat(request.method, error)) throw error;
      }
      const pause = pauses.next(verdict);
      if (pause > longestPauseMilliseconds)
        throw new ConnectorError(
          `${origin} asks for a pause of ${Math.round(pause / 1_000)} s, longer than the ${longestPauseMilliseconds / 1_000} s that a load waits: run it later`,
        );
      if (verdict !== 'again') pace.pause(pause);
      await time.sleep(pause, signal);
      signal.throwIfAborted();
    }
  }

  async function send(page: Omit<PageRequest, 'number'>, signal: AbortSignal) {
    const request = createEndpointRequest(endpoint, options.values, page);
    const { status, headers, text, isUtf8 } = await sendPatiently(request, signal);
    // Other characters would be loaded as replacement characters.
    if (status >= 200 && status < 300 && !isUtf8)
      throw new ExchangeError(
        `the response of ${origin} is not UTF-8 (${options.conceal(headers['content-type'] ?? 'no content type').slice(0, quoteLength)}), as JSON must be: ask for UTF-8 with a header in the profile`,
        { isTransient: false },
      );
    const masked = credentials === undefined ? request : maskCredentials(request, credentials);
    const sent = { ...masked, authenticatesBy: authentication.type };
    return { url: request.url, status, headers, text, sent };
  }

  return {
    send,
    async fetch(page, signal) {
      const { sent, ...response } = await send(page, signal);
      if (response.status >= 200 && response.status < 300) return response;
      const Fault = isPermanentStatus(response) ? PermanentFault : ConnectorError;
      throw new Fault(describeStatus(sent, response, options.conceal));
    },
  };
}

function requireOrigin(url: URL, origin: string): void {
  if (url.origin === origin) return;
  throw new ConnectorError(
    `the request leads to ${url.origin}, but the endpoint is at ${origin}: requests to another server are not sent`,
  );
}

function addCredentials(
  { method, url, headers, body }: EndpointRequest,
  { headers: added, query }: Credentials,
) {
  const address = new URL(url);
  for (const [name, value] of query) address.searchParams.set(name, value);
  return { method, url: address, headers: [...headers, ...added], body };
}

/** The request as it was sent, for people. */
function maskCredentials(request: EndpointRequest, { headers, query }: Credentials): EndpointRequest {
  const url = new URL(request.url);
  for (const [name] of query) url.searchParams.set(name, '***');
  const masked = headers.map(([name, value]): [string, string] => [
    name,
    value.replace(/^(Basic |Bearer )?.*$/s, '$1***'),
  ]);
  return { ...request, url: url.href, headers: [...request.headers, ...masked] };
}

const redirects = [301, 302, 303, 307, 308];

function readRedirect(method: string, { status, headers }: ReceivedResponse, base: URL): URL | undefined {
  if (!redirects.includes(status)) return undefined;
  const target = URL.parse(headers.location ?? '', base.href);
  if (headers.location === undefined || target === null)
    throw new ConnectorError(`${base.origin} redirects without an address`);
  if (method !== 'GET')
    throw new ConnectorError(
      `${base.origin} redirects a ${method} to ${target.origin}${target.pathname}: write this address into the profile`,
    );
  if (target.origin !== base.origin)
    throw new ConnectorError(
      `${base.origin} redirects to ${target.origin}: redirects to another server are not followed`,
    );
  return target;
}

const advice: Readonly<Record<number, string>> = {
  400: 'correct the parameters',
  401: 'the server does not accept the credentials: correct the secret',
  403: 'the credentials do not allow it: ask for the permission',
  404: 'correct the address or its parameters',
  405: 'correct the method in the profile',
  429: 'the server still asks to wait after several attempts: call it less often',
};

const withoutCredentials =
  'the request has no credentials: give the endpoint an authentication in the profile, or select one by authType in the connection';
const adviceBy: Readonly<Partial<Record<AuthenticationType, Readonly<Record<number, string>>>>> = {
  NONE: { 401: withoutCredentials, 403: withoutCredentials },
  OAUTH: {
    401: 'the server does not accept the token: check the scopes, or authorize the OAuth configuration again',
  },
};

/** What an unsuccessful response means. `conceal`: removes secrets from what it quotes. */
export function describeStatus(
  { method, authenticatesBy }: Pick<AuthenticatedRequest, 'method' | 'authenticatesBy'>,
  { url, status, text }: Pick<FetchedPage, 'url' | 'status' | 'text'>,
  conceal: (text: string) => string,
): string {
  const { origin, pathname } = new URL(url);
  const remedy =
    adviceBy[authenticatesBy]?.[status] ??
    advice[status] ??
    (status >= 500 ? 'the server has a fault: try again later' : 'see what it says');
  // A word that is cut may be a part of a secret, which would not be concealed.
  const read = text.length > readLength ? (/^.*\s/s.exec(text.slice(0, readLength))?.[0] ?? '') : text;
  const said = conceal(read).replaceAll(/\s+/g, ' ').trim();
  const quote = said === '' ? '' : `: ${said.length > quoteLength ? `${said.slice(0, quoteLength)}…` : said}`;
  return `${method} ${origin}${pathname} answered ${status} (${remedy})${quote}`;
}
