/**
 * The relay: a listener on loopback, which git uses instead of the other host (docs/adr/0064). It passes
 * three requests of Git's smart HTTP protocol and nothing else, so that an exploited git reaches no other
 * address, and it alone knows the credential. It runs in a thread (relay.thread.ts).
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { OutgoingRules } from './guarded-request.ts';
import { passOn } from './passing.ts';
import type { RemoteFailure } from './remote.ts';
import { createSession, type RelayedOptions, type RelayedRequest, type Session } from './session.ts';

export interface RelayedRemote {
  url: string;
  environment: Record<string, string>;
  failure(): RemoteFailure | undefined;
  close(): void;
}

/** `/s/{id}/{rest}` */
const sessionPath = /^\/s\/([\w-]{22})\/([^?#]*)(\?[^#]*)?$/;

export function createRelay(rules: OutgoingRules): {
  openRemote(options: RelayedOptions): Promise<RelayedRemote>;
} {
  const sessions = new Map<string, Session>();
  let listening: Promise<number> | undefined;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, id = '', path = '', query = ''] = sessionPath.exec(request.url ?? '') ?? [];
    const session = sessions.get(id);
    if (session === undefined || !hasToken(request, session)) {
      // Not 401: git would look for a credential of its own.
      response.writeHead(403).end('This address is for the git of this server only.\n');
      return;
    }
    const allowed = findRequest(request.method, path, query, session.direction);
    if (allowed === undefined) {
      response.writeHead(403).end('The relay does not pass this request.\n');
      return;
    }
    await passOn(rules, session, allowed, request, response);
  }

  function listen(): Promise<number> {
    const server = createServer((request, response) => {
      request.on('error', () => undefined);
      response.on('error', () => undefined);
      serve(request, response).catch(() => response.destroy());
    });
    // A push of a large pack takes as long as its session allows.
    server.requestTimeout = 0;
    server.headersTimeout = 10_000;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
    });
  }

  return {
    async openRemote(options) {
      listening ??= listen();
      listening.catch(() => {
        listening = undefined;
      });
      const port = await listening;
      const id = randomBytes(16).toString('base64url');
      const token = randomBytes(32).toString('base64url');
      const session = createSession(options, digest(token));
      sessions.set(id, session);
      session.signal.addEventListener('abort', () => sessions.delete(id));
      return {
        url: `http://127.0.0.1:${port}/s/${id}/`,
        // By the environment, because other users of the machine can read the arguments of a process.
        environment: { GIT_CONFIG_PARAMETERS: `'http.extraheader=Authorization: Bearer ${token}'` },
        failure: () => session.failure,
        close: session.close,
      };
    },
  };
}

const digest = (text: string) => createHash('sha256').update(text).digest();

function hasToken({ headers }: IncomingMessage, { tokenDigest }: Session): boolean {
  const [, token = ''] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? [];
  return timingSafeEqual(digest(token), tokenDigest);
}

const services = { read: ['git-upload-pack'], write: ['git-upload-pack', 'git-receive-pack'] } as const;

/** The requests of Git's smart HTTP protocol (gitprotocol-http); undefined for any other. */
function findRequest(
  method: string | undefined,
  path: string,
  query: string,
  direction: 'read' | 'write',
): RelayedRequest | undefined {
  for (const service of services[direction]) {
    if (method === 'GET' && path === 'info/refs' && query === `?service=${service}`)
      return { method, path: `info/refs${query}`, answerType: `application/x-${service}-advertisement` };
    if (method === 'POST' && path === service && query === '')
      return { method, path, answerType: `application/x-${service}-result` };
  }
  return undefined;
}
