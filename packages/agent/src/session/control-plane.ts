/**
 * The client of the agent protocol, over HTTP with a bearer token. Each call is one attempt; callers retry.
 */
import type {
  ArtifactManifest,
  CertificateRequest,
  ClaimRequest,
  ClaimResponse,
  ConnectorOauthLookup,
  ConnectorOauthPlan,
  ConnectorOauthProblemReport,
  DeletedEnvironments,
  DeletedEnvironmentsRequest,
  GoodbyeRequest,
  GoodbyeResponse,
  HeartbeatRequest,
  HeartbeatResponse,
  HelloRequest,
  HelloResponse,
  IssuedCertificate,
  ReportsRequest,
  ReportsResponse,
  SecretCoordinates,
  SecretLookup,
} from '@headgate/contract';

import { realTime } from '../time.ts';
import { callHttp, type HttpRequest, type HttpResponse } from './http-call.ts';
import { callWithin } from './limited-call.ts';

const callTimeoutMilliseconds = 30_000;
const blobTimeoutMilliseconds = 300_000;
const answerLimit = 64 * 1024 * 1024;
/** A token is renewed after this fraction of its lifetime. */
const renewAfter = 0.8;

export interface ControlPlane {
  hello(body: HelloRequest, signal: AbortSignal): Promise<HelloResponse>;
  /** A long poll: the server waits up to `body.waitSeconds` for work. */
  claim(body: ClaimRequest, signal: AbortSignal): Promise<ClaimResponse>;
  heartbeat(body: HeartbeatRequest, signal: AbortSignal): Promise<HeartbeatResponse>;
  report(body: ReportsRequest, signal: AbortSignal): Promise<ReportsResponse>;
  goodbye(body: GoodbyeRequest, signal: AbortSignal): Promise<GoodbyeResponse>;
  certificate(body: CertificateRequest, signal: AbortSignal): Promise<IssuedCertificate>;
  secretReference(body: SecretLookup, signal: AbortSignal): Promise<SecretCoordinates>;
  connectorOauth(body: ConnectorOauthLookup, signal: AbortSignal): Promise<ConnectorOauthPlan>;
  connectorOauthProblem(body: ConnectorOauthProblemReport, signal: AbortSignal): Promise<void>;
  deletedEnvironments(body: DeletedEnvironmentsRequest, signal: AbortSignal): Promise<DeletedEnvironments>;
  artifact(digest: string, signal: AbortSignal): Promise<ArtifactManifest>;
  blob(sha256: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
}

/** An unsuccessful response. */
export class ControlPlaneError extends Error {
  override name = 'ControlPlaneError';
  readonly status: number;
  readonly code: string | undefined;
  constructor(status: number, code: string | undefined, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * Whether the same call may succeed later: after a network error, a restart or a rate limit, but not a
 * refusal.
 */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof ControlPlaneError)) return true;
  return [401, 408, 425, 429].includes(error.status) || error.status >= 500;
}

export interface ControlPlaneOptions {
  serverUrl: string;
  clientId: string;
  /** Read for each token request, since it may be replaced. */
  clientSecret: string;
  /** Milliseconds of a clock that only moves forward. */
  now?: () => number;
}

export function createControlPlane(options: ControlPlaneOptions): ControlPlane {
  const tokens = createTokenSource(options);
  const base = `${options.serverUrl}/agent/v1`;

  async function request(path: string, init: HttpRequest, bounded: AbortSignal) {
    for (let attempt = 1; ; attempt++) {
      const token = await tokens.get(bounded);
      const headers = { ...init.headers, authorization: `Bearer ${token}`, accept: 'application/json' };
      const response = await callHttp(`${base}${path}`, { ...init, headers }, bounded);
      if (response.ok) return response;
      const error = await readProblem(response, `${init.method} ${path}`);
      if (response.status !== 401 || attempt > 1) throw error;
      tokens.drop(token);
    }
  }

  async function post<T>(path: string, body: unknown, signal: AbortSignal, waitSeconds = 0): Promise<T> {
    const init: HttpRequest = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    };
    const timeout = callTimeoutMilliseconds + waitSeconds * 1_000;
    return callWithin(realTime, timeout, [signal], async (bounded) => {
      return (await readJson(await request(path, init, bounded))) as T;
    });
  }

  return {
    hello: (body, signal) => post('/hello', body, signal),
    claim: (body, signal) => post('/claims', body, signal, body.waitSeconds),
    heartbeat: (body, signal) => post('/heartbeats', body, signal),
    report: (body, signal) => post('/reports', body, signal),
    goodbye: (body, signal) => post('/goodbye', body, signal),
    certificate: (body, signal) => post('/certificates', body, signal),
    secretReference: (body, signal) => post('/secret-references', body, signal),
    connectorOauth: (body, signal) => post('/connector-oauths', body, signal),
    connectorOauthProblem: (body, signal) => post('/connector-oauth-problems', body, signal),
    deletedEnvironments: (body, signal) => post('/deleted-environments', body, signal),
    async artifact(digest, signal) {
      const path = `/artifacts/${encodeURIComponent(digest)}`;
      return callWithin(realTime, callTimeoutMilliseconds, [signal], async (bounded) => {
        return (await readJson(await request(path, { method: 'GET' }, bounded))) as ArtifactManifest;
      });
    },
    async blob(sha256, signal) {
      const path = `/blobs/${encodeURIComponent(sha256)}`;
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(blobTimeoutMilliseconds)]);
      const response = await request(path, { method: 'GET' }, bounded);
      return response.body;
    },
  };
}

/** RFC 6749 §4.4. Concurrent callers share one request, unless it hangs. */
function createTokenSource(options: ControlPlaneOptions) {
  const now = options.now ?? (() => performance.now());
  let current: { token: string; renewAt: number } | undefined;
  let renewal: Promise<string> | undefined;

  async function renew(): Promise<string> {
    const asked = now();
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: options.clientId,
      client_secret: options.clientSecret,
    });
    const response = await callHttp(
      `${options.serverUrl}/oauth/dpc/token`,
      {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: String(form),
      },
      AbortSignal.timeout(callTimeoutMilliseconds),
    );
    if (!response.ok) throw await readProblem(response, 'POST /oauth/dpc/token');
    const { access_token: token, expires_in: seconds } = (await readJson(response)) as Record<
      string,
      unknown
    >;
    if (typeof token !== 'string' || typeof seconds !== 'number') {
      throw new Error('the server’s token endpoint answered without access_token and expires_in');
    }
    current = { token, renewAt: asked + seconds * 1_000 * renewAfter };
    return token;
  }

  function renewOnce(): Promise<string> {
    if (renewal !== undefined) return renewal;
    const begun = renew().finally(() => forget(begun));
    // Avoids an unhandled rejection if all callers have given up.
    begun.catch(() => undefined);
    renewal = begun;
    return begun;
  }

  function forget(end: Promise<string>): void {
    if (renewal === end) renewal = undefined;
  }

  return {
    /**
     * Rejects with the signal's reason. The next caller then sends a new request, since this one may hang.
     */
    async get(signal: AbortSignal): Promise<string> {
      if (current && now() < current.renewAt) return current.token;
      signal.throwIfAborted();
      const renewed = renewOnce();
      const aborted = Promise.withResolvers<never>();
      const giveUp = () => {
        forget(renewed);
        aborted.reject(signal.reason);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      return Promise.race([renewed, aborted.promise]).finally(() =>
        signal.removeEventListener('abort', giveUp),
      );
    },
    drop(token: string): void {
      if (current?.token === token) current = undefined;
    },
  };
}

async function readProblem(response: HttpResponse, call: string): Promise<ControlPlaneError> {
  const problem = (await readJson(response).catch(() => undefined)) as Record<string, unknown> | undefined;
  // `error` and `error_description` are from RFC 6749.
  const code = problem?.code ?? problem?.error;
  const detail = problem?.detail ?? problem?.error_description ?? code ?? response.statusText;
  return new ControlPlaneError(
    response.status,
    typeof code === 'string' ? code : undefined,
    `the server answered ${response.status} to ${call}: ${String(detail).slice(0, 1_000)}`,
  );
}

async function readJson(response: HttpResponse): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > answerLimit) throw new Error(`the server’s answer is larger than ${answerLimit} bytes`);
    chunks.push(chunk);
  }
  // A 204 has no body.
  return size === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString('utf8'));
}
