/**
 * One HTTP request to another Git host. The egress guard checks the address, and the connection goes to a
 * checked IP address, with the host of the URL as Host header and TLS server name. The operator's own
 * addresses are not checked, unless another host names them.
 */
import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import { isIP } from 'node:net';
import type { CheckedAddress } from '../../kernel/security/egress.ts';
import { createPinnedLookup, endWith } from '../../kernel/security/outgoing-client.ts';
import { RemoteFailed, type ShownCredential } from './remote.ts';

export interface OutgoingRules {
  guard: { check(address: string): Promise<Pick<CheckedAddress, 'addresses'>> };
  /** Origins that the operator has set. */
  trustedOrigins: ReadonlySet<string>;
  /** More certificate authorities to trust, for tests. */
  ca?: string | undefined;
}

export interface GuardedRequest {
  url: URL;
  method: string;
  /** Without Host. */
  headers: Readonly<Record<string, string>>;
  credential: ShownCredential | undefined;
  /** Checked even if its origin is the operator's. */
  isNamedByHost?: boolean;
  signal: AbortSignal;
}

const mostHeaderBytes = 32_768;
const attemptMilliseconds = 2_000;

/**
 * Connects and sends the headers. The caller writes the body and ends it.
 * @throws EgressRefused, and what the signal was aborted with
 */
export async function startRequest(rules: OutgoingRules, expected: GuardedRequest): Promise<ClientRequest> {
  const { url, credential } = expected;
  const isTrusted = rules.trustedOrigins.has(url.origin) && expected.isNamedByHost !== true;
  const checked = isTrusted ? undefined : await endWith(expected.signal, rules.guard.check(url.href));
  const isTls = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isCredentialMadeForIt = credential !== undefined && credential.origin === url.origin;
  const options = {
    method: expected.method,
    host,
    ...(checked === undefined ? {} : { lookup: createPinnedLookup(checked.addresses) }),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: attemptMilliseconds,
    port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
    path: url.pathname + url.search,
    headers: {
      ...expected.headers,
      host: url.host,
      ...(isCredentialMadeForIt ? { authorization: credential.authorization } : {}),
    },
    maxHeaderSize: mostHeaderBytes,
    signal: expected.signal,
    // A new connection for each request: a body that is streamed could not be sent again on another one.
    agent: false as const,
  };
  return isTls
    ? secureRequest({ ...options, servername: isIP(host) === 0 ? host : '', ...pickCa(rules) })
    : plainRequest(options);
}

function pickCa({ ca }: OutgoingRules): { ca?: string } {
  return ca === undefined ? {} : { ca };
}

/** Resolves with the answer's status and headers. Rejects if there is none. */
export function awaitAnswer(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on('response', resolve);
    request.on('error', reject);
    // Without this, Node.js closes the connection of a 101 and says nothing: the request would never end.
    request.on('upgrade', ({ statusCode = 0 }, socket) => {
      socket.destroy();
      reject(new RemoteFailed({ kind: 'unreachable', reason: `The host answered ${statusCode}.` }));
    });
  });
}

/** Names in lower case; several values are joined. */
export function readHeaders(answer: IncomingMessage): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(answer.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  );
}
